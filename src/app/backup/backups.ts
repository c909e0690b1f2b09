/** Backups of the instance that is open: who writes them, and what is configured for them. */

import { recipientFault, recipientFingerprint } from "#adapters/age/age.ts";
import { archived } from "./archiver.ts";
import { ArchiveDirectory, type ArchivePlace } from "./directory.ts";
import { ArchiveBucket } from "#adapters/publish/archives.ts";
import { credentialsOf } from "#adapters/publish/open.ts";
import { storeAddress } from "#adapters/db/address.ts";
import { systemRandom, systemStopwatch } from "#adapters/system.ts";
import type { BackupHandlerDeps } from "#api/backups.ts";
import type { Config } from "#config/schema.ts";
import { SecretUnavailable, type Secrets } from "#config/secret.ts";
import { showYaml } from "#config/show.ts";
import type { HsmToken, Protection } from "#core/backup/archive.ts";
import { refuse } from "#core/problems.ts";
import type { ArchiveWish, Archiving } from "#domain/backup/archiving.ts";
import { Backups } from "#domain/backup/backups.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { AppOptions } from "#app/options.ts";
import type { Parts } from "#app/parts.ts";

/** What they are made with. */
export interface BackupParts extends Pick<AppOptions, "build" | "workerUrl"> {
  readonly config: Config;
  readonly inForce: () => Config;
  readonly secrets: Secrets;
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly parts: Pick<Parts, "sealing">;
}

/** Opens them. */
export function backupsOf(deps: BackupParts): Omit<BackupHandlerDeps, "makeNow"> {
  const { store, keys, clock } = deps;
  const { envelopes } = deps.parts.sealing;
  const archiving = archivingOf(deps);
  const [random, stopwatch] = [systemRandom, systemStopwatch];
  return {
    backups: new Backups({ store, keys, envelopes, clock, stopwatch, random, archiving }),
    configured: () => configuredProtection(deps),
    recipientFault,
    openersOf,
  };
}

/** What says which token held the keys that an archive only refers to. */
async function tokensOf(keys: Pick<Keys, "facts">): Promise<readonly HsmToken[]> {
  const tokens = (await keys.facts()).filter(({ provider }) => provider !== "software");
  // Of one that has not answered since the start nothing is known.
  return tokens.flatMap(({ provider, deviceSerial: serial, tokenLabel, manufacturer, model }) =>
    serial === ""
      ? []
      : [{ provider, serial, label: tokenLabel || undefined, manufacturer, model }],
  );
}

function archivingOf(deps: BackupParts): Archiving {
  const { config, inForce, secrets, keys, build, workerUrl } = deps;
  return async function* (wish: ArchiveWish, host) {
    const { keystore_dir, master_key_file } = config.key_provider.software;
    const archive = {
      store: await storeAddress(config, secrets),
      keystore: keystore_dir,
      masterKeyFile: master_key_file,
      withMasterKey: inForce().backup.include_master_key,
      configuration: wish.withConfiguration ? showYaml(inForce(), new Map()) : undefined,
      version: build.version,
      createdAt: wish.createdAt,
      mustVerify: true,
      hsmTokens: await tokensOf(keys),
    };
    yield* archived({ archive, protection: wish.protection }, host, workerUrl);
  };
}

/** Where archives go: a directory, a bucket, both, or nowhere. */
export function configuredPlaces({
  inForce,
  secrets,
}: Pick<BackupParts, "inForce" | "secrets">): readonly ArchivePlace[] {
  const { dir } = inForce().backup;
  const bucket = bucketOf(inForce(), secrets);
  return [
    ...(dir === undefined ? [] : [new ArchiveDirectory(dir)]),
    ...(bucket === undefined ? [] : [bucket]),
  ];
}

/** The bucket they go to; undefined where none is configured. */
export function bucketOf(config: Config, secrets: Secrets): ArchiveBucket | undefined {
  const { s3 } = config.backup;
  const { bucket, access_key_id: keyId } = s3;
  if (bucket === undefined || keyId === undefined) return undefined;
  const credentials = () => credentialsOf(keyId, { ...s3, bucket }, secrets, "backup.s3");
  // Without replicas, no other process uploads for this instance.
  const uploadAgeMs = config.database.driver === "sqlite" ? 0 : undefined;
  return new ArchiveBucket({ ...s3, bucket }, credentials, undefined, uploadAgeMs);
}

/** How events name those who can open an archive. */
export const openersOf = (protection: Protection): readonly string[] =>
  "passphrase" in protection ? ["passphrase"] : protection.recipients.map(recipientFingerprint);

/** Recipients, or else the passphrase; undefined where there is neither. */
export async function configuredProtection({
  inForce,
  secrets,
}: Pick<BackupParts, "inForce" | "secrets">): Promise<Protection | undefined> {
  const { recipients, passphrase: setting } = inForce().backup;
  if (recipients.length > 0) return { recipients };
  try {
    const passphrase = await secrets.recent("backup.passphrase", setting);
    return passphrase === undefined ? undefined : { passphrase };
  } catch (error) {
    if (error instanceof SecretUnavailable) throw refuse("unprocessable", {}, error.message);
    throw error;
  }
}
