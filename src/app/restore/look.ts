/** What can be said of an archive before it is opened, and what opens it by the configuration. */

import { readFileSync } from "node:fs";

import { openersNamed } from "#adapters/age/age.ts";
import { sidecarOf } from "#app/backup/directory.ts";
import { digestOf } from "#app/backup/files.ts";
import { openSecrets } from "#app/secrets.ts";
import type { ArchiveLook } from "#cli/command.ts";
import type { Config } from "#config/schema.ts";
import type { Opener } from "#core/backup/archive.ts";
import { mustBeReadable } from "./scratch.ts";

/** The identity file of the drill, or else the passphrase; undefined where there is neither. */
export async function configuredOpener(config: Config): Promise<Opener | undefined> {
  const { verify, passphrase: setting } = config.backup;
  if (verify.identity_file !== undefined) {
    const lines = readFileSync(verify.identity_file, "utf8").split(/\r?\n/);
    return { identities: lines.filter((line) => line.startsWith("AGE-SECRET-KEY-")) };
  }
  const passphrase = await openSecrets(config).fresh("backup.passphrase", setting);
  return passphrase === undefined ? undefined : { passphrase };
}

/** Throws `ArchiveUnfit` for what is no archive, and for one that is not what was made. */
export async function lookAt(archive: string): Promise<ArchiveLook> {
  mustBeReadable(archive);
  const openers = await openersNamed(Bun.file(archive).stream());
  const sha256 = await digestOf(archive);
  const as_made = sidecarOf(archive)?.sha256 === sha256;
  return { opened: false, sha256, size: Bun.file(archive).size, as_made, openers };
}
