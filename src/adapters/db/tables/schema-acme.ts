/**
 * The tables of ACME. On SQLite those that grow with every request have their primary key as the
 * table (migration 0006): their ids sort by time, so that what is new lies on few pages.
 */

import { sql } from "drizzle-orm";

import type { Kit } from "./kit.ts";

/** Builds them with the columns of one dialect. */
export function acmeTables(k: Kit) {
  return {
    acmeNonces: noncesTable(k),
    acmeAccounts: accountsTable(k),
    acmeAccountKeys: accountKeysTable(k),
    acmeRecordEnds: recordEndsTable(k),
    acmeEabs: eabTable(k),
    acmeOrders: ordersTable(k),
    acmeOrderAuthorizations: orderAuthorizationsTable(k),
    acmeAuthorizations: authorizationsTable(k),
    acmeChallenges: challengesTable(k),
  };
}

/** Nonces that were used; their ids begin with the time they were made. */
function noncesTable(k: Kit) {
  return k.table("acme_nonces", {
    id: k.text("id").primaryKey(),
    expiresAt: k.int("expires_at").notNull(),
  });
}

function accountsTable(k: Kit) {
  return k.table(
    "acme_accounts",
    {
      id: k.text("id").primaryKey(),
      directory: k.text("directory").notNull(),
      tenant: k.text("tenant").notNull(),
      status: k.text("status").notNull(),
      thumbprint: k.text("thumbprint").notNull(),
      jwk: k.text("jwk").notNull(),
      spkiSha256: k.text("spki_sha256").notNull(),
      contacts: k.texts("contacts").notNull(),
      termsAgreedAt: k.int("terms_agreed_at"),
      eabId: k.text("eab_id"),
      createdAt: k.int("created_at").notNull(),
      /** Null for accounts that are kept. */
      idleSince: k.int("idle_since"),
    },
    (t) => [
      k.unique("acme_accounts_key").on(t.directory, t.thumbprint),
      k.index("acme_accounts_spki").on(t.spkiSha256),
      k.index("acme_accounts_listing").on(t.tenant, t.status, t.createdAt, t.id),
      k.index("acme_accounts_idle").on(t.idleSince, t.id).where(sql`idle_since is not null`),
      k.index("acme_accounts_eab").on(t.eabId, t.status, t.id).where(sql`eab_id is not null`),
    ],
  );
}

/** Keys that accounts had before the one they have. */
function accountKeysTable(k: Kit) {
  return k.table(
    "acme_account_keys",
    {
      account: k.text("account").notNull(),
      thumbprint: k.text("thumbprint").notNull(),
      spkiSha256: k.text("spki_sha256").notNull(),
      /** Counts the changes of an account. */
      number: k.int("number").notNull(),
    },
    (t) => [
      k.primaryKey({ columns: [t.account, t.thumbprint] }),
      k.index("acme_account_keys_number").on(t.account, t.number),
      k.index("acme_account_keys_spki").on(t.spkiSha256),
    ],
  );
}

/** Up to which of its former keys the standing records of an account for a name are over. */
function recordEndsTable(k: Kit) {
  return k.table(
    "acme_record_ends",
    {
      account: k.text("account").notNull(),
      identifier: k.text("identifier").notNull(),
      /** Of the last key that it concerns. */
      number: k.int("number").notNull(),
    },
    (t) => [k.primaryKey({ columns: [t.account, t.identifier] })],
  );
}

function eabTable(k: Kit) {
  return k.table(
    "acme_eabs",
    {
      id: k.text("id").primaryKey(),
      directory: k.text("directory").notNull(),
      caId: k.text("ca_id").notNull(),
      tenant: k.text("tenant").notNull(),
      name: k.text("name").notNull(),
      description: k.text("description").notNull(),
      profile: k.text("profile"),
      dnsSuffixes: k.texts("dns_suffixes").notNull(),
      ipRanges: k.texts("ip_ranges").notNull(),
      allowWildcards: k.bool("allow_wildcards").notNull(),
      anyIdentifier: k.bool("any_identifier").notNull(),
      maxUses: k.int("max_uses").notNull(),
      uses: k.int("uses").notNull(),
      createdBy: k.text("created_by").notNull(),
      createdAt: k.int("created_at").notNull(),
      expiresAt: k.int("expires_at"),
      lastUsedAt: k.int("last_used_at"),
      revokedAt: k.int("revoked_at"),
      revokedBy: k.text("revoked_by"),
    },
    (t) => [k.index("acme_eabs_paging").on(t.createdAt, t.id)],
  );
}

function ordersTable(k: Kit) {
  return k.table(
    "acme_orders",
    {
      id: k.text("id").primaryKey(),
      account: k.text("account").notNull(),
      directory: k.text("directory").notNull(),
      tenant: k.text("tenant").notNull(),
      caId: k.text("ca_id").notNull(),
      status: k.text("status").notNull(),
      /** JSON. */
      identifiers: k.text("identifiers").notNull(),
      authorizations: k.texts("authorizations").notNull(),
      profile: k.text("profile").notNull(),
      replacesCa: k.text("replaces_ca"),
      replacesSerial: k.text("replaces_serial"),
      createdAt: k.int("created_at").notNull(),
      expiresAt: k.int("expires_at").notNull(),
      /** The later end of the order and its certificate. */
      endsAt: k.int("ends_at").notNull(),
      /** JSON. */
      error: k.text("error"),
      certificateCa: k.text("certificate_ca"),
      certificateSerial: k.text("certificate_serial"),
      certificateNotAfter: k.int("certificate_not_after"),
      /** The order that replaced its certificate. */
      replacedBy: k.text("replaced_by"),
      /** The store that finalizes it, and since when. */
      owner: k.int("owner"),
      claimedAt: k.int("claimed_at"),
    },
    (t) => [
      k.index("acme_orders_account").on(t.account, t.createdAt, t.id),
      k.index("acme_orders_listing").on(t.tenant, t.caId, t.createdAt, t.id),
      // Almost all that are old are valid, and not in it.
      k
        .index("acme_orders_open")
        .on(t.status, t.createdAt, t.id, t.account, t.tenant, t.caId, t.expiresAt)
        .where(sql`status <> 'valid'`),
      k.index("acme_orders_end").on(t.endsAt),
      // Ends grow as orders do and serials are random, each a page of its own.
      k
        .index("acme_orders_certificate")
        .on(t.certificateNotAfter, t.certificateSerial)
        .where(sql`certificate_serial is not null`),
    ],
  );
}

/** Which orders name an authorization. */
function orderAuthorizationsTable(k: Kit) {
  return k.table(
    "acme_order_authorizations",
    {
      authorizationId: k.text("authorization_id").notNull(),
      orderId: k.text("order_id").notNull(),
    },
    (t) => [k.primaryKey({ columns: [t.authorizationId, t.orderId] })],
  );
}

function authorizationsTable(k: Kit) {
  return k.table(
    "acme_authorizations",
    {
      id: k.text("id").primaryKey(),
      account: k.text("account").notNull(),
      directory: k.text("directory").notNull(),
      identifierType: k.text("identifier_type").notNull(),
      identifier: k.text("identifier").notNull(),
      wildcard: k.bool("wildcard").notNull(),
      status: k.text("status").notNull(),
      createdAt: k.int("created_at").notNull(),
      expiresAt: k.int("expires_at").notNull(),
      method: k.text("method"),
      /** Ids, in the order in which they are offered. */
      challenges: k.texts("challenges").notNull(),
      /** True while an order names it, whose end it shares. */
      ordered: k.bool("ordered").notNull(),
    },
    (t) => [
      // The state is last, so that a proof changes it where it stands.
      k
        .index("acme_authorizations_open")
        .on(t.account, t.identifier, t.id, t.status)
        .where(sql`status in ('pending', 'valid')`),
      k.index("acme_authorizations_end").on(t.expiresAt).where(sql`not ordered`),
      k.index("acme_authorizations_alone").on(t.account).where(sql`not ordered`),
    ],
  );
}

function challengesTable(k: Kit) {
  return k.table(
    "acme_challenges",
    {
      id: k.text("id").primaryKey(),
      authorizationId: k.text("authorization_id").notNull(),
      account: k.text("account").notNull(),
      type: k.text("type").notNull(),
      token: k.text("token").notNull(),
      status: k.text("status").notNull(),
      validatedAt: k.int("validated_at"),
      /** JSON. */
      error: k.text("error"),
      attempts: k.int("attempts").notNull(),
      /** When it is due, while it is being worked on. */
      nextAt: k.int("next_at"),
      /** The store that makes the attempt, and until when nobody else does. */
      owner: k.int("owner"),
      leaseUntil: k.int("lease_until"),
    },
    (t) => [
      k
        .index("acme_challenges_due")
        .on(t.nextAt, t.id, t.account, t.leaseUntil, t.owner)
        .where(sql`status = 'processing'`),
    ],
  );
}
