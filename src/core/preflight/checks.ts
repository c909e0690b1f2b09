/**
 * WHAT PREFLIGHT CHECKS: every check with what it looks at, when it warns and fails, and what to do
 * then (PRF-1).
 */

/** What must be there for a check to look at anything. */
export type Need = "config" | "store" | "keys" | "server" | "network" | "deep";

/** One check; `warns` and `fails` say when, for people. */
export interface CheckRow {
  readonly looksAt: string;
  readonly warns: string;
  readonly fails: string;
  readonly remedy: string;
  readonly needs: readonly Need[];
}

const row = (
  looksAt: string,
  warns: string,
  fails: string,
  remedy: string,
  ...needs: readonly Need[]
): CheckRow => ({ looksAt, warns, fails, remedy, needs });

const none = "never";

// biome-ignore format: the table is read row by row, each with its five columns.
export const preflightChecks = {
  "config.parse": row(
    "load and validation", none, "any error",
    "Correct the listed keys; `pkid config reference` describes each."),
  "config.unknown_env": row(
    "`PKID_` variables", "one matches no key", none,
    "Remove the variable or fix its name."),
  "config.file_mode": row(
    "configuration file", "readable by others while it holds inline secrets", "writable by others",
    "Set mode 0600 and the service user as owner."),
  "config.default_secrets": row(
    "every secret that is set: passwords, passphrases, PINs, keys of MACs and of ACME bindings", "a secret under 64 bits of entropy, a key of a MAC or binding under 32 octets", "a known default, or what the example has, is in use",
    "Replace it and restart.", "config"),
  "secret.sources": row(
    "every source resolves", "an inline value is shadowed by a source, or a file is readable by others by permission", "unresolvable, or a file readable by others",
    "Fix the source or its permissions.", "config"),
  "data_dir.modes": row(
    "data directory, database, keys, master key, sockets, backups", "backup directory open to others", "key material or database open to others",
    "chmod 0700 for directories, 0600 for files.", "config"),
  "disk.space": row(
    "data, backup and publish volumes: bytes and inodes", "< 10 % or < 2 GiB free, or < 14 days at the present growth", "< `database.min_free_mb` × 2, or < 1 % of inodes",
    "Enlarge the volume or run retention.", "config"),
  "disk.fsync": row(
    "settings that make a commit durable, a timed test write", "median fsync > 50 ms", "a setting is off, or the file system is a network mount without locking",
    "Turn the setting on or move the database.", "config"),
  "db.connectivity": row(
    "ping, and whether the server takes writes", "> 100 ms", "unreachable, a standby, or read-only",
    "Check DSN and network.", "config"),
  "db.version": row(
    "engine version, replication", "PostgreSQL replica lag > 10 s, or a standby without `synchronous_standby_names`", "SQLite < 3.45, PostgreSQL < 14",
    "Upgrade the engine; set synchronous_standby_names so that a fail-over loses nothing.", "config"),
  "db.schema": row(
    "migrations", none, "pending, or newer than the binary",
    "Run `pkid migrate` or the newer binary.", "config"),
  "db.integrity": row(
    "foreign keys, states, duplicates", none, "any violation",
    "Run `pkid verify`; restore if it confirms.", "config", "deep"),
  "keyprovider.ca": row(
    "the provider of CA keys opens and answers", "no probe available", "unreachable, wrong PIN, several tokens match",
    "Check module, token and PIN source.", "config"),
  "keyprovider.responder": row(
    "the provider of responder keys opens and answers", "no probe available", "unreachable, wrong PIN, several tokens match",
    "Check module, token and PIN source.", "config"),
  "pin.source": row(
    "PIN resolves, file mode", "the file is readable by others by permission", "unresolvable or readable by others",
    "Fix the source.", "config"),
  "pkcs11.uris": row(
    "the token's URI in the configuration", "nothing found by the URI", "malformed, or carries a pin-value",
    "Correct the URI; use `pin_source`."),
  "keys.ca": row(
    "each CA key present, signs and verifies, matches its certificate", none, "missing, mismatch, self-test fails",
    "Restore the token; the CA stays unavailable until then.", "config"),
  "keys.extractable": row(
    "attributes in the provider", "CA key held in software", "extractable or not sensitive",
    "Create a successor with `ca rotate` on the HSM.", "store", "keys"),
  "keys.ocsp_delegate": row(
    "responder key and certificate of each CA", "not created yet; past half life", "could not be created, expired or mismatch",
    "The leader renews it; check the CA key.", "store", "keys"),
  "keys.kek": row(
    "every version that seals or opens", "a retiring version older than 30 days", "a version cannot be opened",
    "Restore the KEK; finish `keys kek rotate`.", "store", "keys"),
  "pqc.hybrid": row(
    "the ML-KEM half of the KEK when switched on", none, "absent or unusable",
    "Run `keys kek rotate`.", "store", "keys"),
  "ledger.head": row(
    "ledger tail, open entries", "an entry open for more than 1 min", "hash broken, artefact missing",
    "`pkid verify`; treat as an incident.", "config"),
  "issuance.orphans": row(
    "intents without artefact", "any in the last 30 days", "orphans in a public profile not revoked",
    "Review `cert orphans`; revoke what was logged.", "store"),
  "audit.chain_head": row(
    "newest events, high-water mark", none, "broken link, head mismatch, or acknowledged changes are missing",
    "`pkid audit verify`; stop issuing until explained.", "config"),
  "certs.ca_expiry": row(
    "every CA not retired", "fewer than the warn days, or shorter than the longest profile on it", "fewer than the fail days, or expired",
    "Rotate the intermediate or renew the root.", "config", "store"),
  "certs.responder_expiry": row(
    "responder certificates", "past half life", "fewer than the fail days and in the last quarter of its life, or expired",
    "Renew it.", "store"),
  "certs.serving_expiry": row(
    "certificate really served", "< 14 days; differs from the configured one", "expired, name does not match `public_url`",
    "Replace it and send SIGHUP.", "config", "server"),
  "certs.expiring": row(
    "leaf counts per severity", "any critical", "any expired and not superseded for more than 7 days",
    "`pkid monitor expiring`; renew or revoke.", "store"),
  "crl.freshness": row(
    "newest base and delta of every scope", "past half life, or none yet; a delta older than its interval, or none on the newest base", "past nextUpdate, begins in the future, or has a lower number than what is published",
    "Check the leader, the CA key and the clock; `pkid monitor clock-accept` confirms the time.", "store"),
  "crl.partitions": row(
    "stamped against served partitions", "no partitions while a full CRL exceeds 10 MiB; one not published yet", "a stamped partition is not served or lacks an entry",
    "Raise `crl.shards`; run `pkid verify`.", "config", "store"),
  "revocation.urls": row(
    "the CDP, OCSP and caIssuers URLs of the newest certificate of each CA, fetched from here", "answer > 1 s; https-only CDP; a copy past half of its life", "no answer, wrong signer, stale, redirect",
    "Fix DNS, proxy or `crl.base_url`.", "config", "store", "network"),
  "ocsp.presign": row(
    "last sweep, oldest answer", "older than 1.5 refreshes", "older than 2, not able to sign, or an answer beyond nextUpdate",
    "Check the leader, provider speed, `session_pool_size`.", "config", "store"),
  "publish.freshness": row(
    "manifest at the target", "older than 2 intervals; the last run failed; nothing published yet", "earliest_expiry past, digest mismatch, or the target cannot be read",
    "`pkid publish run`.", "config", "store", "network"),
  "backup.freshness": row(
    "last run, target", "older than 1.5 intervals; none yet; off", "failed, or older than 3",
    "Read the event; run `pkid backup create`.", "config", "store"),
  "backup.restore_verified": row(
    "last drill", "older than 7 days; never", "failed",
    "`pkid backup verify`.", "config", "store"),
  "backup.recipients": row(
    "who can open it", "one recipient only; identity stored on this host", "none valid",
    "Add an offline recipient.", "config"),
  "canary.last_probe": row(
    "last probe of each configured CA", "older than 3 intervals; none yet", "the last one failed",
    "Read the event's stage.", "config", "store"),
  "retention.freshness": row(
    "last run", "older than 2 intervals; none yet", "failed",
    "Read the event.", "config", "store"),
  "auth.ldap": row(
    "connect, TLS, service bind only", "certificate < 14 days", "any failure",
    "Fix address, trust or bind secret.", "config", "network"),
  "auth.oidc": row(
    "discovery, issuer equality, keys", "clock difference > 30 s", "unreachable, issuer differs, or no usable key",
    "Fix `issuer_url`.", "config", "network"),
  "auth.mtls": row(
    "file of the trusted client CAs", "fewer than the warn days left", "missing, unreadable, or a CA expired",
    "Renew the file."),
  "auth.root_basic": row(
    "break-glass", "Basic for root on while another administrator has credentials", "root is the only admin and its password is the generated one after 30 days",
    "Set `policy.allow_root_basic_auth: false`.", "config", "store"),
  "auth.cleartext": row(
    "cookies, listener", "`auth.session.insecure` or cleartext switch on", "either together with a public_url that is not loopback",
    "Use TLS.", "config"),
  "caa.identifier": row(
    "identifier set where enforced", "mode permissive in a public profile", "missing",
    "Set `caa.identifier`."),
  "dns.resolver": row(
    "resolver answers, EDNS0, TCP, DNSSEC", "no AD on the root zone's SOA; > 500 ms; one of several does not answer", "no answer while ACME or CAA needs it",
    "Point `acme.dns_resolver` at a validating resolver.", "config", "network"),
  "acme.external": row(
    "each directory through `acme.base_url`", none, "unreachable, or its addresses differ",
    "Fix the proxy or `acme.base_url`.", "config", "server", "network"),
  "protocols.ready": row(
    "CA, key and profiles of each ACME directory", "a profile that people need approval for", "missing, not active, or of another tenant; a key that is away or another; a profile that is missing",
    "Create the CA or correct `acme.ca_label`.", "config", "store"),
  "ct.logs": row(
    "each profile's policy can be met; logs answer", "a log is read-only, retired or silent", "policy cannot be met",
    "Update the log list.", "config", "network"),
  "ct.inclusion": row(
    "states of SCTs", "unknown_log, monitor stalled", "any failed",
    "Contact the log; consider reissue.", "config", "store"),
  "keychecks.blocklist": row(
    "files load, blocked list size", "older than 1 year", "unreadable",
    "Update the file."),
  "profiles.gates": row(
    "gates per profile", "a gate off or warning only", "public profile with a gate off",
    "Turn the gate on.", "config"),
  "approvals.quorum": row(
    "per guarded class", "exactly as many approvers as needed", "fewer distinct people than the threshold besides any maker",
    "Add approvers or lower the threshold.", "config"),
  "leader.presence": row(
    "jobs, and the leases under which one process does each", "in an hour more than 3 leases lost, or two under one; a job overdue", "no job has succeeded for 60 s",
    "Check Postgres connectivity between replicas.", "store", "server"),
  "clock.skew": row(
    "host against database and newest event", "> 10 s", "> 60 s, or an event in the future",
    "Fix NTP; see `monitor clock-accept`.", "store"),
  "listener.tls": row(
    "pair, path, live handshake", "live differs from file; chain incomplete", "cannot serve, key mismatch",
    "Replace the files; SIGHUP.", "config"),
  "listener.sockets": row(
    "admin and unix sockets", "mode looser than configured", "stale file, wrong owner",
    "Remove the stale socket.", "config"),
  "process.limits": row(
    "open files, memory, writable directories", "open files < 8,192; memory < 512 MiB", "open files < 1,024; memory < 256 MiB; a directory not writable, or not executable while a PKCS#11 module is configured",
    "Raise the limit (LimitNOFILE and MemoryMax of a unit); set a private temp directory.", "config"),
} as const satisfies Record<string, CheckRow>;

export type CheckName = keyof typeof preflightChecks;

export const checkNames: readonly CheckName[] =
  // The table's keys are exactly the names.
  Object.keys(preflightChecks) as CheckName[];

/** What a check needs, with the type the table states. */
export const needsOf = (name: CheckName): readonly Need[] => preflightChecks[name].needs;
