/**
 * Startup validation across keys: the rules that need no file, token or database (V-2, V-3, V-5,
 * V-8 to V-16, V-22, V-23).
 */

import { resolve } from "node:path";

import { profileOf } from "#config/sections/issuance.ts";
import { ProfileSet } from "#core/policy/profiles.ts";

import { accessFaults } from "./access-rules.ts";
import { acmeFaults } from "./acme-rules.ts";
import { approvalFaults } from "./approval-rules.ts";
import { clientFaults } from "./client-rules.ts";
import { type Environment, insecureHttpAllowed } from "./environment.ts";
import type { Fault } from "./faults.ts";
import type { Config } from "./schema.ts";
import { monitorFaults } from "./monitor-rules.ts";
import { profileFaults } from "./profile-rules.ts";
import { own } from "./section.ts";
import { isPostgresUrl, postgresDefaults } from "#config/sections/database.ts";

/**
 * Every fault of a configuration whose keys were all read; `isSet` tells a value from a default.
 */
export function ruleFaults(
  config: Config,
  env: Environment,
  isSet: (path: string) => boolean,
): readonly Fault[] {
  return [
    ...servingFaults(config, env),
    ...databaseFaults(config, isSet),
    ...rootFaults(config),
    ...accessFaults(config),
    ...clientFaults(config, env, isSet),
    ...keyFaults(config, isSet),
    ...profileFaults(config),
    ...crlFaults(config),
    ...presignFaults(config),
    ...publishFaults(config),
    ...retentionFaults(config),
    ...monitorFaults(config),
    ...backupFaults(config),
    ...canaryFaults(config),
    ...acmeFaults(config),
    ...approvalFaults(config.approvals),
  ];
}

/** V-2: how the main listener gets its certificate. */
function servingFaults({ server, profiles }: Config, env: Environment): readonly Fault[] {
  const { tls_cert, tls_key } = server;
  const selfIssued = server.tls.self_issue.enabled;
  const faults: Fault[] = [];
  if ((tls_cert === undefined) !== (tls_key === undefined)) {
    const path = tls_cert === undefined ? "server.tls_cert" : "server.tls_key";
    faults.push(fault(path, "Both server.tls_cert and server.tls_key must be set, or none."));
  }
  if (tls_cert !== undefined && selfIssued) {
    const sentence = "Must not be true together with server.tls_cert.";
    faults.push(fault("server.tls.self_issue.enabled", sentence));
  }
  if (tls_cert === undefined && tls_key === undefined && !selfIssued && !insecureHttpAllowed(env)) {
    const sentence =
      "Without a certificate the port would speak cleartext; set server.tls_cert, or PKID_ALLOW_INSECURE_HTTP=1.";
    faults.push(fault("server.tls.self_issue.enabled", sentence));
  }
  if (
    selfIssued &&
    server.tls.self_issue.dnsnames.length + server.tls.self_issue.ips.length === 0
  ) {
    faults.push(fault("server.tls.self_issue.dnsnames", "At least one name or address is needed."));
  }
  const { profile } = server.tls.self_issue;
  if (selfIssued && !new ProfileSet(profiles.map(profileOf)).has(profile)) {
    faults.push(
      fault("server.tls.self_issue.profile", `There is no profile ${JSON.stringify(profile)}.`),
    );
  }
  if (server.tls.cipher_suites.length === 0) {
    const sentence = "Must name at least one; server.tls.min_version: 1.3 does without TLS 1.2.";
    faults.push(fault("server.tls.cipher_suites", sentence));
  }
  return [...faults, ...socketFaults(server)];
}

/** V-3: Linux limits the path of a Unix socket to 107 octets. */
function socketFaults({
  admin_socket: admin,
  unix_socket: open,
}: Config["server"]): readonly Fault[] {
  const long = `The path of a Unix socket has at most ${socketPathMax} octets.`;
  const faults: Fault[] = [];
  if (admin.enabled && Buffer.byteLength(admin.path) > socketPathMax) {
    faults.push(fault("server.admin_socket.path", long));
  }
  if (open.path === undefined) return faults;
  if (Buffer.byteLength(open.path) > socketPathMax) {
    faults.push(fault("server.unix_socket.path", long));
  }
  if (admin.enabled && resolve(open.path) === resolve(admin.path)) {
    // Whoever may connect there would be an administrator.
    faults.push(
      fault("server.unix_socket.path", "Must be another path than server.admin_socket.path."),
    );
  }
  return faults;
}

/** V-25: somebody can open the archives, and they go somewhere. */
function backupFaults({ backup }: Config): readonly Fault[] {
  const { enabled, recipients, passphrase, dir, s3 } = backup;
  const faults: Fault[] = [];
  if (recipients.length > 0 && passphrase !== undefined) {
    faults.push(fault("backup.passphrase", "Must not be set together with backup.recipients."));
  }
  if (s3.bucket !== undefined) {
    for (const key of ["access_key_id", "secret_access_key"] as const) {
      if (s3[key] === undefined) faults.push(fault(`backup.s3.${key}`, "Must be set."));
    }
  }
  if (!enabled) return faults;
  if (recipients.length === 0 && passphrase === undefined) {
    faults.push(fault("backup.enabled", "Needs backup.recipients or backup.passphrase."));
  }
  if (dir === undefined && s3.bucket === undefined) {
    faults.push(fault("backup.enabled", "Needs backup.dir or backup.s3.bucket."));
  }
  return faults;
}

/** V-25, the part of retention: nothing is removed before it may leave. */
function retentionFaults({ retention }: Config): readonly Fault[] {
  const { prune_after_days: prune, min_age_days: age } = retention;
  if (prune === 0 || prune >= age) return [];
  return [fault("retention.prune_after_days", "Must not be below retention.min_age_days.")];
}

/** V-22: a probe has something to probe, and is over before the next one. */
function canaryFaults({ canary, profiles }: Config): readonly Fault[] {
  const { enabled, cas, profile, timeout_seconds, interval_minutes } = canary;
  const faults: Fault[] = [];
  if (timeout_seconds >= interval_minutes * 60) {
    faults.push(fault("canary.timeout_seconds", "Must be shorter than canary.interval_minutes."));
  }
  if (!enabled) return faults;
  if (cas.length === 0) faults.push(fault("canary.cas", "At least one CA is needed."));
  if (!new ProfileSet(profiles.map(profileOf)).has(profile)) {
    faults.push(fault("canary.profile", `There is no profile ${JSON.stringify(profile)}.`));
  }
  return faults;
}

/** V-5, without what opening the database shows. */
function databaseFaults(config: Config, isSet: (path: string) => boolean): readonly Fault[] {
  const { database, access_log } = config;
  if (database.driver === "postgres") {
    if (isSet("access_log.path") && access_log.path !== undefined) {
      const sentence = "With postgres the access log is a table of the database; remove it.";
      return [fault("access_log.path", sentence)];
    }
    if (!isSet("database.dsn")) return [fault("database.dsn", "PostgreSQL needs a database URL.")];
    const inline = database.dsn?.from === "value" ? database.dsn.value.reveal() : undefined;
    if (inline === undefined || isPostgresUrl(inline)) return [];
    // Without the text itself, which may carry a password in a place nobody expects.
    return [fault("database.dsn", "Must be a URL like postgres://user@host:5432/database.")];
  }
  const file = database.dsn?.from === "value" ? database.dsn.value.reveal() : undefined;
  if (file !== undefined && file === access_log.path) {
    return [fault("access_log.path", "Must be another file than the database.")];
  }
  // A key that repeats its default changes nothing, so that what `config show` prints loads again.
  return Object.entries(postgresDefaults)
    .filter(([key, value]) => isSet(`database.${key}`) && own(database, key) !== value)
    .map(([key]) => fault(`database.${key}`, "Has no meaning with sqlite; remove it."));
}

function rootFaults({ root_user }: Config): readonly Fault[] {
  if (root_user.password === undefined || root_user.password_hash === undefined) return [];
  return [fault("root_user.password_hash", "Only one of password and password_hash may be set.")];
}

/** V-11 and the master key of V-12, without what the token and the files show. */
function keyFaults(
  { key_provider, pkcs11, secret }: Config,
  isSet: (path: string) => boolean,
): readonly Fault[] {
  const faults: Fault[] = [];
  const chosen = { type: key_provider.type, ...prefixed("roles.", key_provider.roles) };
  const wanting = Object.entries(chosen).find(([, provider]) => provider === "pkcs11");
  if (wanting && pkcs11.module_path === undefined) {
    const sentence = `Must be set, because key_provider.${wanting[0]} is pkcs11.`;
    faults.push(fault("pkcs11.module_path", sentence));
  }
  if (secret.pqc_hybrid && secret.kek_label === undefined) {
    faults.push(fault("secret.pqc_hybrid", "Needs a key-encryption key; set secret.kek_label."));
  }
  const fields = [pkcs11.token_label, pkcs11.token_serial, pkcs11.token_manufacturer];
  if (pkcs11.uri !== undefined && fields.some((given) => given !== undefined)) {
    const sentence =
      "Replaces token_label, token_serial and token_manufacturer; set one or the other.";
    faults.push(fault("pkcs11.uri", sentence));
  }
  if (isSet(passphraseKey) && isSet("key_provider.software.master_key_file")) {
    faults.push(fault(passphraseKey, "Only one of passphrase and master_key_file may be set."));
  }
  return faults;
}

/** V-15: without an address nobody could find the partition of a certificate. */
function crlFaults({ crl }: Config): readonly Fault[] {
  if (crl.shards < 2 || crl.base_url !== undefined) return [];
  return [fault("crl.shards", "Needs crl.base_url or server.public_url for the pointers to them.")];
}

/**
 * V-16, without publishing: what is signed ahead lives for more than one sweep, and is served from
 * memory.
 */
function presignFaults({ presign, server }: Config): readonly Fault[] {
  if (!presign.enabled) return [];
  const faults: Fault[] = [];
  if (presign.refresh_minutes * 2 > presign.validity_minutes) {
    const sentence = "Must be at most half of presign.validity_minutes.";
    faults.push(fault("presign.refresh_minutes", sentence));
  }
  if (server.ocsp_cache_ttl_seconds < 0) {
    faults.push(
      fault("presign.enabled", "Needs the response cache; see server.ocsp_cache_ttl_seconds."),
    );
  }
  return faults;
}

/** V-16: one target, with all that it takes. */
function publishFaults({ publish, presign }: Config): readonly Fault[] {
  const { enabled, dir, s3, include_ocsp } = publish;
  if (!enabled) return [];
  const faults: Fault[] = [];
  if ((dir.path === undefined) === (s3.bucket === undefined)) {
    faults.push(
      fault("publish.enabled", "Needs exactly one of publish.dir.path and publish.s3.bucket."),
    );
  }
  if (include_ocsp && !presign.enabled) {
    faults.push(fault("publish.include_ocsp", "Needs presign.enabled."));
  }
  if (s3.bucket !== undefined) {
    for (const key of ["access_key_id", "secret_access_key"] as const) {
      if (s3[key] === undefined) faults.push(fault(`publish.s3.${key}`, "Must be set."));
    }
  }
  return faults;
}

const prefixed = (prefix: string, of: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(of).map(([key, value]) => [prefix + key, value]));

const fault = (path: string, sentence: string): Fault => ({ path, sentence });

const socketPathMax = 107;
const passphraseKey = "key_provider.software.passphrase";
