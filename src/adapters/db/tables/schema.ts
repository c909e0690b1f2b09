/**
 * THE TABLES, defined once for both dialects. Instants are epoch milliseconds, serials decimal
 * text, lists JSON text.
 */

import { sql } from "drizzle-orm";

import type { Kit } from "./kit.ts";
import { personColumns } from "./people.ts";
import { acmeTables } from "./schema-acme.ts";
import { approvalTables } from "./schema-approvals.ts";
import { archiveTables } from "./schema-archive.ts";
import { bulkTables } from "./schema-bulk.ts";
import { bulkRevocationTables } from "./schema-bulk-revocations.ts";
import { counterTables } from "./schema-counts.ts";
import { crlTables } from "./schema-crls.ts";
import { envelopeTables } from "./schema-envelopes.ts";
import { keyCheckTables } from "./schema-key-checks.ts";
import { passkeyTables } from "./schema-passkeys.ts";
import { replacementTables } from "./schema-replacements.ts";
import { tenantTables } from "./schema-tenants.ts";
import { presignedTables } from "./schema-presigned.ts";
import { transparencyTables } from "./schema-transparency.ts";

/** Builds every table with the columns of one dialect. */
export function defineTables(k: Kit) {
  return {
    cas: casTable(k),
    crossSigns: crossSignsTable(k),
    instance: instanceTable(k),
    intents: intentsTable(k),
    certificates: certificatesTable(k),
    ...archiveTables(k),
    ...revocationTables(k),
    ...crlTables(k),
    ...presignedTables(k),
    responders: respondersTable(k),
    ...keyCheckTables(k),
    ...bulkTables(k),
    ...bulkRevocationTables(k),
    ...counterTables(k),
    ...transparencyTables(k),
    ...envelopeTables(k),
    tokens: tokensTable(k),
    ...passkeyTables(k),
    ...tenantTables(k),
    ...approvalTables(k),
    ...acmeTables(k),
    ...replacementTables(k),
    events: eventsTable(k),
    folds: foldsTable(k),
    ledger: ledgerTable(k),
    openIntents: openIntentsTable(k),
    heads: headsTable(k),
    accessLog: accessLogTable(k),
    migrations: migrationsTable(k),
  };
}

export type Tables = ReturnType<typeof defineTables>;

function casTable(k: Kit) {
  return k.table(
    "cas",
    {
      id: k.text("id").primaryKey(),
      tenant: k.text("tenant").notNull(),
      label: k.text("label").notNull(),
      parent: k.text("parent"),
      lineage: k.text("lineage").notNull(),
      status: k.text("status").notNull(),
      keyProvider: k.text("key_provider").notNull(),
      keyLabel: k.text("key_label").notNull(),
      keyId: k.text("key_id").notNull(),
      keyType: k.text("key_type").notNull(),
      spki: k.bytes("spki").notNull(),
      /** The second key of a hybrid CA; all five or none. */
      altKeyProvider: k.text("alt_key_provider"),
      altKeyLabel: k.text("alt_key_label"),
      altKeyId: k.text("alt_key_id"),
      altKeyType: k.text("alt_key_type"),
      altSpki: k.bytes("alt_spki"),
      certificate: k.bytes("certificate"),
      serial: k.text("serial"),
      subject: k.text("subject").notNull(),
      notBefore: k.int("not_before"),
      notAfter: k.int("not_after"),
      maxPathLength: k.int("max_path_length"),
      csr: k.bytes("csr"),
      externalChain: k.text("external_chain"),
      successor: k.text("successor"),
      predecessor: k.text("predecessor"),
      retireAfter: k.int("retire_after"),
      createdAt: k.int("created_at").notNull(),
      internal: k.bool("internal").notNull(),
      /** Lower case label and subject, a line each, for search without case. */
      search: k.text("search").notNull(),
    },
    (t) => [
      k.unique("cas_label").on(t.label),
      k.index("cas_paging").on(t.createdAt, t.id),
      k.index("cas_lineage").on(t.lineage),
      k.index("cas_parent").on(t.parent, t.serial),
      k.index("cas_tenant").on(t.tenant),
    ],
  );
}

/**
 * Beside the rows of kind `cross` among the certificates, which hold everything else about them.
 */
function crossSignsTable(k: Kit) {
  return k.table(
    "cross_signs",
    {
      id: k.text("id").primaryKey(),
      issuer: k.text("issuer").notNull(),
      serial: k.text("serial").notNull(),
      subjectCa: k.text("subject_ca"),
      subjectKeyId: k.text("subject_key_id").notNull(),
      source: k.text("source").notNull(),
      createdAt: k.int("created_at").notNull(),
    },
    (t) => [
      k.unique("cross_signs_serial").on(t.issuer, t.serial),
      k.index("cross_signs_paging").on(t.issuer, t.createdAt, t.id),
      k.index("cross_signs_subject").on(t.subjectCa, t.createdAt, t.id),
    ],
  );
}

function instanceTable(k: Kit) {
  return k.table("instance", {
    name: k.text("name").primaryKey(),
    value: k.text("value").notNull(),
  });
}

/** Serials that were taken and came to nothing; no row of it ever changes. */
function intentsTable(k: Kit) {
  return k.table(
    "intents",
    {
      ...intentColumns(k),
      /** `abandoned` or `orphaned`. */
      state: k.text("state").notNull(),
    },
    (t) => [
      // REC-1: a serial is used once per CA key, also when the certificate never came to be.
      k.primaryKey({ columns: [t.caId, t.serial] }),
      k.index("intents_orphaned").on(t.caId, t.createdAt).where(sql`state = 'orphaned'`),
    ],
  );
}

const intentColumns = (k: Kit) => ({
  opId: k.text("op_id").notNull(),
  caId: k.text("ca_id").notNull(),
  serial: k.text("serial").notNull(),
  purpose: k.text("purpose").notNull(),
  tbsDigest: k.text("tbs_digest").notNull(),
  requestedBy: k.text("requested_by").notNull(),
  createdAt: k.int("created_at").notNull(),
});

function certificatesTable(k: Kit) {
  return k.table("certificates", certificateColumns(k), (t) => [
    k.behind(k.index("certificates_identity").on(t.identity, t.notAfter)),
    k.unique("certificates_serial").on(t.caId, t.serial),
    k.behind(k.index("certificates_paging").on(t.caId, t.kind, t.ordinal)),
    // Each ends like the paging index, so that a planner without statistics prefers it for its
    // filter.
    k.behind(k.index("certificates_profile").on(t.profile, t.caId, t.kind, t.ordinal)),
    k.behind(k.index("certificates_requester").on(t.requestedBy, t.caId, t.kind, t.ordinal)),
    k.behind(k.index("certificates_digest").on(t.digestHead)),
    k.index("certificates_key").on(t.spkiSha256, t.caId, t.kind, t.ordinal),
    k.behind(k.index("certificates_expiry").on(t.caId, t.kind, t.status, t.notAfter)),
  ]);
}

const certificateColumns = (k: Kit) => ({
  /**
   * Counts up with every certificate stored: newest first is by it, and SQLite's text index is
   * tied to it.
   */
  ordinal: k.ordinal("ordinal"),
  ...k.folding(),
  id: k.text("id").notNull(),
  caId: k.text("ca_id").notNull(),
  tenant: k.text("tenant").notNull(),
  serial: k.text("serial").notNull(),
  /** Lower hex without leading zeros, for search by a hex prefix. */
  serialHex: k.text("serial_hex").notNull(),
  kind: k.text("kind").notNull(),
  subject: k.text("subject").notNull(),
  commonName: k.text("common_name").notNull(),
  sans: k.texts("sans").notNull(),
  /** Lower case subject, common name and SANs, a line each, for search without case. */
  search: k.text("search").notNull(),
  profile: k.text("profile").notNull(),
  notBefore: k.int("not_before").notNull(),
  notAfter: k.int("not_after").notNull(),
  status: k.text("status").notNull(),
  revokedAt: k.int("revoked_at"),
  reason: k.text("reason"),
  requestedBy: k.text("requested_by").notNull(),
  createdAt: k.int("created_at").notNull(),
  spkiSha256: k.text("spki_sha256").notNull(),
  marker: k.text("marker").notNull(),
  /**
   * What certificates that supersede one another share, as a short digest; empty where nothing
   * can.
   */
  identity: k.text("identity").notNull().default(""),
  /** JSON of the SCTs of transparency logs; null where none was asked. */
  ct: k.text("ct"),
  /** The partition and the distribution point it names. */
  crlPartition: k.int("crl_partition"),
  crlUrl: k.text("crl_url"),
  /** Behind the others, so that none of them lies behind the pages of a large one. */
  certificate: k.bytes("certificate").notNull(),
  /**
   * How the SHA-256 of the DER begins (`digest-head.ts`), also of one in the archive; null for a
   * tombstone. It came later, and only its index is asked for it.
   */
  digestHead: k.int("digest_head"),
});

function revocationTables(k: Kit) {
  const revocations = k.table(
    "revocations",
    {
      caId: k.text("ca_id").notNull(),
      serial: k.text("serial").notNull(),
      revokedAt: k.int("revoked_at").notNull(),
      reason: k.text("reason").notNull(),
      known: k.bool("known").notNull(),
      expiresAt: k.int("expires_at"),
      sequence: k.int("sequence").notNull(),
    },
    (t) => [
      k.primaryKey({ columns: [t.caId, t.serial] }),
      k.index("revocations_sequence").on(t.caId, t.sequence),
      // Holds all a CRL says, so that listing a million entries by serial never looks a row up.
      k
        .index("revocations_listing")
        .on(t.caId, t.serial, t.revokedAt, t.reason, t.expiresAt, t.sequence),
    ],
  );
  /**
   * The sequence number of the last change under each CA, which survives the removal of its row.
   */
  const revocationChanges = k.table("revocation_changes", {
    caId: k.text("ca_id").primaryKey(),
    sequence: k.int("sequence").notNull(),
  });
  /** Holds that were taken off: the entry stood from `since` to `sequence`. */
  const revocationReleases = k.table(
    "revocation_releases",
    {
      caId: k.text("ca_id").notNull(),
      sequence: k.int("sequence").notNull(),
      serial: k.text("serial").notNull(),
      since: k.int("since").notNull(),
      revokedAt: k.int("revoked_at").notNull(),
      expiresAt: k.int("expires_at"),
    },
    (t) => [k.primaryKey({ columns: [t.caId, t.sequence] })],
  );
  return { revocations, revocationChanges, revocationReleases };
}

function respondersTable(k: Kit) {
  return k.table(
    "responders",
    {
      caId: k.text("ca_id").notNull(),
      serial: k.text("serial").notNull(),
      keyLabel: k.text("key_label").notNull(),
      keyId: k.text("key_id").notNull(),
      keyProvider: k.text("key_provider").notNull(),
      certificate: k.bytes("certificate").notNull(),
      notBefore: k.int("not_before").notNull(),
      notAfter: k.int("not_after").notNull(),
    },
    (t) => [k.primaryKey({ columns: [t.caId, t.serial] })],
  );
}

function tokensTable(k: Kit) {
  const madeBy = personColumns(k, "person");
  return k.table(
    "api_tokens",
    {
      id: k.text("id").primaryKey(),
      name: k.text("name").notNull(),
      description: k.text("description").notNull(),
      prefix: k.text("prefix").notNull(),
      tokenHash: k.text("token_hash").notNull(),
      roles: k.texts("roles").notNull(),
      scope: k.text("scope").notNull(),
      tenant: k.text("tenant"),
      createdBy: k.text("created_by").notNull(),
      createdByName: k.text("created_by_name").notNull(),
      personSubject: madeBy.subject,
      personVoucher: madeBy.voucher,
      personIssuer: madeBy.issuer,
      personAddress: madeBy.address,
      createdAt: k.int("created_at").notNull(),
      expiresAt: k.int("expires_at"),
      lastUsedAt: k.int("last_used_at"),
      lastUsedIp: k.text("last_used_ip").notNull(),
      revokedAt: k.int("revoked_at"),
      revokedBy: k.text("revoked_by").notNull(),
    },
    (t) => [
      k.unique("api_tokens_hash").on(t.tokenHash),
      k.index("api_tokens_paging").on(t.createdAt, t.id),
    ],
  );
}

function eventsTable(k: Kit) {
  return k.table(
    "events",
    {
      seq: k.int("seq").primaryKey(),
      ...k.folding(),
      id: k.text("id").notNull(),
      timestamp: k.text("timestamp").notNull(),
      actor: k.text("actor").notNull(),
      actorName: k.text("actor_name").notNull(),
      actorRoles: k.text("actor_roles").notNull(),
      action: k.text("action").notNull(),
      result: k.text("result").notNull(),
      tenant: k.text("tenant").notNull(),
      caId: k.text("ca_id").notNull(),
      serial: k.text("serial").notNull(),
      target: k.text("target").notNull(),
      targetName: k.text("target_name").notNull(),
      detail: k.text("detail").notNull(),
      ip: k.text("ip").notNull(),
      requestId: k.text("request_id").notNull(),
      prevHash: k.text("prev_hash").notNull(),
      hash: k.text("hash").notNull(),
      /** `timestamp` in epoch milliseconds, for filters; never hashed. */
      at: k.int("at").notNull(),
      ...k.certificateOrdinal(),
    },
    (t) => [
      k.behind(k.index("events_action").on(t.action)),
      k.behind(k.index("events_actor").on(t.actor)),
      k.behind(k.index("events_time").on(t.at)),
      ...k.eventsOfCertificates(t),
    ],
  );
}

/**
 * SQLite only: how far indexes, counters and text index have taken in the rows of a table
 * (`engine/folds.ts`).
 */
function foldsTable(k: Kit) {
  return k.table("folds", {
    name: k.text("name").primaryKey(),
    /** Rows up to and with this number are taken in, those above it are not. */
    through: k.int("through").notNull(),
    /** The greatest number of a row that was removed, which no other row may be given. */
    removed: k.int("removed").notNull(),
  });
}

function ledgerTable(k: Kit) {
  return k.table("ledger", {
    number: k.int("number").primaryKey(),
    timestamp: k.text("timestamp").notNull(),
    kind: k.text("kind").notNull(),
    opId: k.text("op_id").notNull(),
    provider: k.text("provider").notNull(),
    deviceSerial: k.text("device_serial").notNull(),
    keyLabel: k.text("key_label").notNull(),
    signerFingerprint: k.text("signer_fingerprint").notNull(),
    role: k.text("role").notNull(),
    operation: k.text("operation").notNull(),
    algorithm: k.text("algorithm").notNull(),
    digest: k.text("digest").notNull(),
    purpose: k.text("purpose").notNull(),
    caId: k.text("ca_id").notNull(),
    artifact: k.text("artifact").notNull(),
    result: k.text("result").notNull(),
    signatureSha256: k.text("signature_sha256").notNull(),
    error: k.text("error").notNull(),
    count: k.text("count").notNull(),
    total: k.text("total").notNull(),
    prevHash: k.text("prev_hash").notNull(),
    hash: k.text("hash").notNull(),
  });
}

/**
 * Everything that is open now, so that start-up need walk neither the ledger (KEY-7) nor the
 * inventory: a serial that is taken, an operation without outcome in the ledger, or both in one
 * row. Without a serial the columns of an intent are empty.
 */
function openIntentsTable(k: Kit) {
  return k.table(
    "open_intents",
    {
      ...intentColumns(k),
      /** Of the entry in the ledger; null when it has its outcome. */
      number: k.int("number"),
      /**
       * The store that wrote it; what a living replica holds open is not orphaned by another one's
       * start.
       */
      owner: k.int("owner").notNull(),
    },
    (t) => [k.primaryKey({ columns: [t.serial, t.opId] })],
  );
}

/**
 * The one row every unit of work locks: where both chains and the revocation sequence end (AUD-1).
 */
function headsTable(k: Kit) {
  return k.table("heads", {
    id: k.int("id").primaryKey(),
    eventSeq: k.int("event_seq").notNull(),
    eventHash: k.text("event_hash").notNull(),
    ledgerNumber: k.int("ledger_number").notNull(),
    ledgerHash: k.text("ledger_hash").notNull(),
    revocationSequence: k.int("revocation_sequence").notNull(),
    /**
     * Moves with every change of rows that replicas remember, by triggers of PostgreSQL's: so does
     * what is done by hand or by an older binary. On SQLite the one process that writes counts.
     */
    rowsVersion: k.int("rows_version").notNull().default(0),
  });
}

function accessLogTable(k: Kit) {
  return k.table(
    "access_log",
    {
      id: k.rowNumber("id"),
      at: k.int("at").notNull(),
      requestId: k.text("request_id").notNull(),
      subject: k.text("subject").notNull(),
      method: k.text("method").notNull(),
      route: k.text("route").notNull(),
      path: k.text("path").notNull(),
      status: k.int("status").notNull(),
      durationMs: k.int("duration_ms").notNull(),
      bytesOut: k.int("bytes_out").notNull(),
      ip: k.text("ip").notNull(),
      userAgent: k.text("user_agent").notNull(),
    },
    (t) => [k.index("access_log_time").on(t.at)],
  );
}

/** The schema's record of itself, made by `migrations.ts` before any migration runs. */
function migrationsTable(k: Kit) {
  return k.table("schema_migrations", {
    version: k.int("version").primaryKey(),
    hash: k.text("hash").notNull(),
  });
}
