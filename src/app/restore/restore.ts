/** `pkid restore`: an archive becomes an instance, or nothing changes (RES-1 to RES-3). */

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

import { storeAddress } from "#adapters/db/address.ts";
import { migrationState } from "#adapters/db/engine/migration-state.ts";
import { moveDatabase } from "#adapters/db/move/databases.ts";
import type { StoreOptions } from "#adapters/db/open.ts";
import { syncDirectory } from "#adapters/keys/software/files.ts";
import type { Manifest } from "#core/backup/archive.ts";
import type { ReadArchive } from "#core/backup/reading.ts";
import { osUser, systemClock, systemRandom } from "#adapters/system.ts";
import { openSecrets } from "#app/secrets.ts";
import { cleanWorkDirectories } from "#app/work-directories.ts";
import { useProxy } from "#app/proxy.ts";
import { Client } from "#cli/client.ts";
import type {
  ArchiveSource,
  NewKekReport,
  RestoreAsked,
  RestoreReport,
  SkippedEntries,
} from "#cli/command.ts";
import { Failure, Refusal } from "#cli/failure.ts";
import { missingText, tokensText } from "#cli/hsm-keys-text.ts";
import { processReach } from "#cli/reach.ts";
import { rowsAt, textAt } from "#cli/rows.ts";
import type { Config } from "#config/schema.ts";
import { timestamp } from "#core/time.ts";
import type { Log } from "#domain/ports.ts";
import { hsmKeysFound } from "./hsm-keys.ts";
import { findLaterArchives, requireNewest } from "./later.ts";
import { belongsToKek, inSoftware, NewKek, newKekRemedy, withRemedy } from "./new-kek.ts";
import { changeOwner, type Placement, moveFiles, recoverPlacement } from "./placement.ts";
import { mustBeProven } from "./prove-archive.ts";
import { type RestoreWays, Scratch } from "./scratch.ts";

/**
 * Restores into what `config` names: a data directory that holds nothing, and a SQLite file that is
 * not there or an empty PostgreSQL database. Everything is proven in a place of its own, which
 * takes the name of the data directory last. Throws `ArchiveUnfit` and `Failure`; then nothing has
 * changed.
 */
export async function restore(
  config: Config,
  source: ArchiveSource,
  asked: RestoreAsked,
  { log, workerUrl }: RestoreWays,
): Promise<RestoreReport> {
  const secrets = openSecrets(config);
  await useProxy(config, secrets);
  const target = await storeAddress(config, secrets, true);
  recoverRestores(config);
  mustBeEmpty(config, target, asked);
  await mustBeEmptyDatabase(target);
  const scratch = new Scratch(placeFor(config), workerUrl);
  const kek = asked.newKek ? new NewKek() : undefined;
  try {
    const read = await scratch.unpack(source, kek && belongsToKek);
    if (kek === undefined) {
      mustBeSameMasterKey(config, scratch);
      scratch.addMasterKey(config);
    }
    // History that a later archive of the same instance has would fork (RES-5).
    const { archive: file, opener } = source;
    const later = await findLaterArchives(config, secrets, { file, opener, read });
    if (!asked.older) requireNewest(later);
    await mustBeProven(scratch);
    await scratch.recordRestore(source.archive, read, kek !== undefined);
    const { manifest } = read;
    const found = await proven(scratch, config, { ...asked, kek, manifest }, log);
    const report = { ...reportOf(read, found, target, asked), later };
    if (!asked.dryRun) await placed(scratch, config, target);
    return report;
  } catch (error) {
    return await (kek?.unmade(scratch.configured(config), error) ?? Promise.reject(error));
  } finally {
    scratch.remove();
  }
}

/**
 * On the volume of the data directory: in it where it is there, because who serves may not write
 * beside it, else beside it.
 */
function placeFor({ data_dir }: Config): string {
  const name = `.restoring-${crypto.randomUUID().slice(0, 8)}`;
  if (existsSync(data_dir)) return join(data_dir, name);
  mkdirSync(dirname(data_dir), { recursive: true });
  return `${data_dir}${name}`;
}

/**
 * Removes the working directories of restores that were killed, and the files that they have placed
 * (see `placeFor`). Throws `Failure` if that finished a restore: then there is an instance.
 */
function recoverRestores({ data_dir }: Pick<Config, "data_dir">): void {
  let isFinished = false;
  const recover = (path: string) => {
    isFinished = recoverPlacement(path) || isFinished;
  };
  cleanWorkDirectories(data_dir, /^\.restoring-[0-9a-f]{8}$/, recover);
  const prefix = `${basename(data_dir)}.restoring-`;
  const isSibling = (name: string) =>
    name.startsWith(prefix) && /^[0-9a-f]{8}$/.test(name.slice(prefix.length));
  cleanWorkDirectories(dirname(data_dir), { test: isSibling }, recover);
  if (!isFinished) return;
  throw new Failure(
    `A restore into ${data_dir} was killed while it placed its files, and is now finished. Start pkid, or remove the directory and the database to restore another archive.`,
    "not_empty",
  );
}

/** What was found when the instance was opened in its place. */
interface Found {
  readonly keys: { readonly status: string; readonly detail: string };
  readonly hsm: RestoreReport["hsm"];
  readonly authorities: number;
  /** CAs whose lists could not be signed anew, with the reason. */
  readonly unsigned: RestoreReport["unsigned"];
  readonly imported: number;
  readonly skipped: readonly SkippedEntries[];
  readonly kek: NewKekReport | undefined;
}

/** Keys answer, revocations from elsewhere are taken over, and every CA has a list of its own. */
async function proven(
  scratch: Scratch,
  config: Config,
  asked: RestoreAsked & { readonly kek: NewKek | undefined; readonly manifest: Manifest },
  log: Log,
): Promise<Found> {
  const { kek, manifest } = asked;
  const app = await openedIn(scratch, config, asked, log);
  const client = new Client(() =>
    processReach(
      async () => ({ fetch: (request) => app.fetch(request), close: async () => {} }),
      osUser(),
    ),
  );
  try {
    const made = kek?.report(config, scratch.dataKeys, asked.allowMissingKeys);
    const hsm = await hsmKeysFound(client, manifest);
    const keys = await keysFound(client, asked.allowMissingKeys, hsm);
    const rows = rowsAt(await client.list("ca.list", { limit: 500 }, true), "items");
    const authorities = rows.map((row) => textAt(row, "id"));
    const { imported, skipped } = await importLists(client, authorities, asked.crls);
    const unsigned = await signedAnew(client, rows);
    return { keys, hsm, authorities: authorities.length, unsigned, imported, skipped, kek: made };
  } finally {
    await client.close();
    await app.close();
  }
}

/** In a place of its own, with a KEK that is tried only or goes where the configuration has it. */
async function openedIn(
  scratch: Scratch,
  config: Config,
  {
    kek,
    dryRun,
    manifest,
  }: Pick<RestoreAsked, "dryRun"> & {
    readonly kek: NewKek | undefined;
    readonly manifest: Manifest;
  },
  log: Log,
) {
  if (kek !== undefined) {
    const place = dryRun ? inSoftware(config) : config;
    return await scratch.open(place, log, { recovery: kek.recovery(scratch.dataKeys) });
  }
  try {
    return await scratch.open(config, log);
  } catch (error) {
    throw withRemedy(error, tokensText(manifest.hsm_tokens ?? []));
  }
}

/** Throws `Failure` where one is missing and that is not allowed. */
async function keysFound(
  client: Client,
  allowMissing: boolean,
  hsm: RestoreReport["hsm"],
): Promise<RestoreReport["keys"]> {
  const only = ["keys.ca", "keys.kek"];
  const report = await client.ask("preflight.run", { only, network: false });
  const checks = new Map(rowsAt(report, "checks").map((one) => [textAt(one, "name"), one]));
  const of = (name: string) => {
    const check = checks.get(name) ?? {};
    return { status: textAt(check, "status"), detail: textAt(check, "detail") };
  };
  const [keys, kek] = [of("keys.ca"), of("keys.kek")];
  if (allowMissing) return keys;
  if (kek.status === "fail") {
    throw new Failure(`The KEK does not open: ${kek.detail} ${newKekRemedy}`, "key_unavailable");
  }
  if (keys.status === "fail") {
    throw new Failure(
      [
        `Keys of CAs are missing: ${keys.detail}`,
        ...(hsm === undefined ? [] : [missingText(hsm)]),
        "--allow-missing-keys restores without them.",
      ].join(" "),
      "key_unavailable",
    );
  }
  return keys;
}

type CaRow = ReturnType<typeof rowsAt>[number];

/** A list of every CA that can sign one; gives those that cannot. */
async function signedAnew(client: Client, rows: readonly CaRow[]): Promise<Found["unsigned"]> {
  const unsigned: Found["unsigned"][number][] = [];
  for (const row of rows) {
    const [id, label] = [textAt(row, "id"), textAt(row, "label")];
    try {
      await client.ask("crl.publish", { id });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const reason = textAt(error.body, "code");
      // One without certificate, or past its end, publishes nothing.
      if (["not_found", "crl_unavailable"].includes(reason)) continue;
      const next = reason === "key_unavailable" ? nextFor(row) : "";
      unsigned.push({ ca: id, label, reason, next });
    }
  }
  return unsigned;
}

/** What to do about a CA whose key is not there. */
function nextFor(row: CaRow): string {
  const [label, provider] = [textAt(row, "label"), textAt(row, "provider")];
  const gone =
    provider === "pkcs11" ? "Its key was held in the token alone" : "Its key does not open";
  const back = "if there is a copy, bring it back and restart";
  const parent = textAt(row, "parent_id");
  return parent === ""
    ? `${gone}: ${back}; else begin a new root (\`pkid ca init-root\`), and have this one removed from every trust store.`
    : `${gone}: ${back}; else \`pkid ca rotate ${label}\` makes its successor, \`pkid ca retire ${label} --force\` revokes it under its parent.`;
}

/** RES-3: what was published after the archive was made stays revoked. */
async function importLists(
  client: Client,
  authorities: readonly string[],
  crls: readonly { readonly file: string; readonly text: string }[],
): Promise<{ readonly imported: number; readonly skipped: readonly SkippedEntries[] }> {
  const skipped: SkippedEntries[] = [];
  let imported = 0;
  for (const { file, text } of crls) {
    const counts = await importList(client, authorities, text);
    if (counts === undefined) {
      throw new Failure(`${file} is no CRL of one of the CAs in the archive.`, "invalid_field");
    }
    imported += Number(counts.imported);
    const entries = Number(counts.skipped ?? 0);
    const serials = textAt(counts, "skipped_serials").split(",");
    if (entries > 0) skipped.push({ file, entries, serials });
  }
  return { imported, skipped };
}

/** Imports a list into the CA that has signed it; returns undefined if no CA has. */
async function importList(client: Client, authorities: readonly string[], crl: string) {
  for (const id of authorities) {
    try {
      return await client.ask("crl.import", { id, crl });
    } catch (error) {
      // Of another CA.
      if (error instanceof Refusal && textAt(error.body, "code") === "invalid_field") continue;
      throw error;
    }
  }
  return undefined;
}

/** From here on there is an instance: what names it comes last. */
async function placed(scratch: Scratch, config: Config, target: StoreOptions): Promise<void> {
  const { data_dir } = config;
  const { keystore_dir, master_key_file } = config.key_provider.software;
  const owner = statSync(data_dir, { throwIfNoEntry: false });
  if (target.driver === "postgres") {
    const from = { driver: "sqlite", path: scratch.database, busy_timeout_ms: 5000 } as const;
    const at = timestamp(systemClock.now());
    await moveDatabase({ from, to: target, at, random: systemRandom });
  }
  mkdirSync(data_dir, { recursive: true, mode: 0o700 });
  const hasMasterKey = master_key_file !== undefined && existsSync(master_key_file);
  if (hasMasterKey && owner !== undefined) changeOwner(master_key_file, owner);
  const moves: Placement["moves"] = [
    [scratch.keystore, keystore_dir],
    [scratch.masterKey, hasMasterKey ? "" : (master_key_file ?? "")],
    [scratch.configuration, join(data_dir, "restored-pkid.yaml")],
    ...readdirSync(scratch.dataDir).map(
      (name) => [join(scratch.dataDir, name), join(data_dir, name)] as const,
    ),
    [
      target.driver === "sqlite" ? scratch.database : "",
      target.driver === "sqlite" ? target.path : "",
    ],
  ];
  const isDatabaseRemote = target.driver === "postgres";
  moveFiles(scratch.root, { moves, isDatabaseRemote, owner });
  syncDirectory(data_dir);
}

/** The master key of an archive without it may be present (`addMasterKey`). */
function mustBeEmpty(config: Config, target: StoreOptions, { newKek }: RestoreAsked): void {
  const { keystore_dir, master_key_file: file } = config.key_provider.software;
  const masterKey = newKek || file === undefined ? undefined : resolve(file);
  const master_key_file = newKek ? file : undefined;
  for (const directory of [config.data_dir, keystore_dir]) {
    if (!existsSync(directory)) continue;
    const names = readdirSync(directory);
    const [first] = names.filter((name) => resolve(directory, name) !== masterKey);
    if (first === undefined) continue;
    throw new Failure(
      `${directory} is not empty (${first}); an archive is restored into nothing else.`,
      "not_empty",
    );
  }
  const files = [master_key_file, target.driver === "sqlite" ? target.path : undefined];
  const there = files.find((file) => file !== undefined && existsSync(file));
  if (there === undefined) return;
  throw new Failure(`${there} is there already; nothing is written over.`, "not_empty");
}

/** Throws `Failure` if the archive has another master key than the file that is present. */
function mustBeSameMasterKey({ key_provider }: Config, { masterKey }: Scratch): void {
  const file = key_provider.software.master_key_file;
  if (file === undefined || !existsSync(file) || !existsSync(masterKey)) return;
  if (readFileSync(file).equals(readFileSync(masterKey))) return;
  throw new Failure(`${file} is there already; nothing is written over.`, "not_empty");
}

async function mustBeEmptyDatabase(target: StoreOptions): Promise<void> {
  if (target.driver === "sqlite" || (await migrationState(target)).current === 0) return;
  throw new Failure(
    "The PostgreSQL database that the configuration names is not empty; nothing is written over.",
    "not_empty",
  );
}

function reportOf(
  { manifest, digests, signedBy }: ReadArchive,
  found: Found,
  target: StoreOptions,
  { dryRun }: RestoreAsked,
): Omit<RestoreReport, "later"> {
  const rows = digests.members.reduce((sum, member) => sum + (member.rows ?? 0), 0);
  const lost = systemClock.now() - Date.parse(manifest.created_at);
  return {
    dry_run: dryRun,
    instance_id: manifest.instance_id,
    created_at: manifest.created_at,
    version: manifest.version,
    audit_seq: manifest.audit.seq,
    ledger_number: manifest.ledger.number,
    rows,
    database: target.driver,
    ledger_key: signedBy,
    lost_seconds: Math.max(0, Math.trunc(lost / 1000)),
    authorities: found.authorities,
    keys: found.keys,
    hsm: found.hsm,
    imported: found.imported,
    skipped: found.skipped,
    unsigned: found.unsigned,
    ...(found.kek && { kek: found.kek }),
  };
}
