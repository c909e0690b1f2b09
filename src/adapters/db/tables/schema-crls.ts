/**
 * Tables of CRLs: numbers given out, published lists and their octets, and which entries are on
 * which partition.
 */

import type { Kit } from "./kit.ts";

/** Builds them with the columns of one dialect. */
export function crlTables(k: Kit) {
  return { ...publishedTables(k), ...partitionTables(k) };
}

function publishedTables(k: Kit) {
  /** The last CRL number, thisUpdate and sequence given out, published or not. */
  const crlReservations = k.table(
    "crl_reservations",
    {
      caId: k.text("ca_id").notNull(),
      scope: k.text("scope").notNull(),
      number: k.int("number").notNull(),
      thisUpdate: k.int("this_update").notNull(),
      sequence: k.int("sequence").notNull().default(0),
      /** What the clock said then; null in rows of older releases. */
      reservedAt: k.int("reserved_at"),
    },
    (t) => [k.primaryKey({ columns: [t.caId, t.scope] })],
  );
  const crlHeads = k.table(
    "crl_heads",
    {
      caId: k.text("ca_id").notNull(),
      scope: k.text("scope").notNull(),
      kind: k.text("kind").notNull(),
      number: k.int("number").notNull(),
      /** Of a delta: the number of its base. */
      base: k.int("base"),
      thisUpdate: k.int("this_update").notNull(),
      nextUpdate: k.int("next_update").notNull(),
      sequence: k.int("sequence").notNull(),
      entries: k.int("entries").notNull(),
      size: k.int("size").notNull(),
      sha256: k.text("sha256").notNull(),
      modulus: k.int("modulus").notNull(),
      urls: k.texts("urls").notNull(),
      /** thisUpdate and sequence of the base before it. */
      priorUpdate: k.int("prior_update"),
      priorSequence: k.int("prior_sequence"),
      /** When the signed list became visible; null in rows of older releases. */
      publishedAt: k.int("published_at"),
    },
    (t) => [k.primaryKey({ columns: [t.caId, t.scope, t.kind, t.number] })],
  );
  /** The DER of a CRL in pieces; pieces without a head are of a list that was never published. */
  const crlPieces = k.table(
    "crl_pieces",
    {
      caId: k.text("ca_id").notNull(),
      scope: k.text("scope").notNull(),
      number: k.int("number").notNull(),
      position: k.int("position").notNull(),
      octets: k.bytes("octets").notNull(),
    },
    (t) => [k.primaryKey({ columns: [t.caId, t.scope, t.number, t.position] })],
  );
  return { crlReservations, crlHeads, crlPieces };
}

function partitionTables(k: Kit) {
  /** Which URL of which partition is in a certificate that is valid until when. */
  const crlShards = k.table(
    "crl_stamps",
    {
      caId: k.text("ca_id").notNull(),
      partition: k.int("partition").notNull(),
      url: k.text("url").notNull(),
      notAfter: k.int("not_after").notNull(),
    },
    (t) => [k.primaryKey({ columns: [t.caId, t.partition, t.url] })],
  );
  /**
   * Which entries are on a partition; derived from revocations and certificates, up to a sequence.
   */
  const crlMembers = k.table(
    "crl_members",
    {
      caId: k.text("ca_id").notNull(),
      partition: k.int("partition").notNull(),
      serial: k.text("serial").notNull(),
      modulus: k.int("modulus").notNull(),
    },
    (t) => [k.primaryKey({ columns: [t.caId, t.partition, t.serial, t.modulus] })],
  );
  const crlIndexes = k.table(
    "crl_indexes",
    {
      caId: k.text("ca_id").notNull(),
      modulus: k.int("modulus").notNull(),
      sequence: k.int("sequence").notNull(),
    },
    (t) => [k.primaryKey({ columns: [t.caId, t.modulus] })],
  );
  return { crlShards, crlMembers, crlIndexes };
}
