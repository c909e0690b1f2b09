/**
 * Checks the files that keys name: present, readable, and certificates where they are due (V-2,
 * V-27).
 */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { accessSync, constants, readFileSync, statSync } from "node:fs";

import { parseBlocklist } from "#core/policy/weak-keys.ts";
import { parseAnchors } from "#core/x509/client-path.ts";

import { configuredLogs } from "./ct-logs.ts";
import type { Fault } from "./faults.ts";
import { groupIdOf } from "./os-group.ts";
import { type Config, configSchema } from "./schema.ts";
import { leaves } from "./section.ts";
import { valueAt } from "./show.ts";

/**
 * Every fault of the files named; opens only certificates, the serving key, and what transparency
 * logs need.
 */
export function fileFaults(config: Config): readonly Fault[] {
  const faults: Fault[] = [];
  for (const { path, field } of leaves(configSchema)) {
    const file = valueAt(config, path);
    if (!field.mustExist || typeof file !== "string") continue;
    const sentence = wrongFile(file);
    if (sentence !== undefined) faults.push({ path, sentence });
  }
  if (faults.length > 0) return faults;
  return [
    ...servingPairFaults(config.server),
    ...groupFaults(config.server.unix_socket.group),
    ...trustFaults(config.outbound.ca_file),
    ...anchorFaults(config.auth.mtls.ca_file),
    ...blocklistFaults(config.keychecks.weak_key_blocklist_paths),
    ...configuredLogs(config).faults,
  ];
}

/**
 * Lower hex SHA-256 of each file that a key names, by the key; of a list of files, of all of them.
 * Empty for what cannot be read now.
 */
export function fileDigests(config: Config): Map<string, string> {
  const digests = new Map<string, string>();
  for (const { path, field } of leaves(configSchema)) {
    const value = valueAt(config, path);
    if (field.mustExist && typeof value === "string") digests.set(path, digestOf([value]));
  }
  const { weak_key_blocklist_paths: lists } = config.keychecks;
  if (lists.length > 0) digests.set("keychecks.weak_key_blocklist_paths", digestOf(lists));
  return digests;
}

function digestOf(files: readonly string[]): string {
  const hasher = new Bun.CryptoHasher("sha256");
  for (const file of files) {
    const octets = attempt(() => readFileSync(file));
    if (octets === undefined) return "";
    hasher.update(octets);
  }
  return hasher.digest("hex");
}

function servingPairFaults(server: Config["server"]): readonly Fault[] {
  if (server.tls_cert === undefined || server.tls_key === undefined) return [];
  const certificate = attempt(() => new X509Certificate(textOf(server.tls_cert)));
  if (!certificate) {
    return [{ path: "server.tls_cert", sentence: "The file holds no PEM certificate." }];
  }
  const key = attempt(() => createPrivateKey(textOf(server.tls_key)));
  if (!key) {
    return [{ path: "server.tls_key", sentence: "The file holds no unencrypted PEM private key." }];
  }
  if (certificate.checkPrivateKey(key)) return [];
  return [{ path: "server.tls_key", sentence: "The key does not belong to server.tls_cert." }];
}

function groupFaults(name: string | undefined): readonly Fault[] {
  if (name === undefined || groupIdOf(name) !== undefined) return [];
  const path = "server.unix_socket.group";
  return [{ path, sentence: `This system knows no group ${JSON.stringify(name)}.` }];
}

function trustFaults(file: string | undefined): readonly Fault[] {
  if (file === undefined) return [];
  const blocks = textOf(file).match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  const read = attempt(() => blocks?.map((pem) => new X509Certificate(pem)));
  if (read !== undefined) return [];
  return [{ path: "outbound.ca_file", sentence: "The file holds no PEM certificates." }];
}

/**
 * Every one must be read by the code that builds paths, or clients below it were strangers without
 * a word.
 */
function anchorFaults(file: string | undefined): readonly Fault[] {
  if (file === undefined) return [];
  const read = attempt(() => parseAnchors(textOf(file)));
  if (read !== undefined) return [];
  const sentence = "The file holds no PEM certificates, or one that cannot be read.";
  return [{ path: "auth.mtls.ca_file", sentence }];
}

/**
 * V-27: read to the last line, for a list of which a part counts for nothing protects from nothing.
 */
function blocklistFaults(paths: readonly string[]): readonly Fault[] {
  return paths.flatMap((file, index) => {
    const path = `keychecks.weak_key_blocklist_paths[${index}]`;
    const wrong = wrongFile(file);
    if (wrong !== undefined) return [{ path, sentence: wrong }];
    const list = attempt(() => parseBlocklist(textOf(file)));
    if (list === undefined) return [{ path, sentence: `${file} cannot be read.` }];
    if ("digests" in list) return [];
    return [{ path, sentence: `${file}: line ${list.wrongLine} is no digest of a key.` }];
  });
}

function wrongFile(file: string): string | undefined {
  try {
    if (!statSync(file).isFile()) return `${file} is not a regular file.`;
    accessSync(file, constants.R_OK);
    return undefined;
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    return missing ? `${file} does not exist.` : `${file} cannot be read.`;
  }
}

function textOf(file: string | undefined): string {
  return file === undefined ? "" : readFileSync(file, "utf8");
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    // Every failure here means the same to the operator: the file is not what the key wants.
    return undefined;
  }
}
