/**
 * Column kits: the same words for SQLite's and PostgreSQL's column types, so that one table
 * definition serves both.
 */

import {
  bigint,
  bigserial,
  boolean,
  customType as pgCustom,
  index as pgIndex,
  type PgColumn,
  primaryKey as pgPrimaryKey,
  pgTable,
  text as pgText,
  uniqueIndex as pgUnique,
} from "drizzle-orm/pg-core";
import { sql } from "drizzle-orm";
import {
  customType,
  type IndexBuilder,
  index,
  integer,
  primaryKey,
  type SQLiteColumn,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";

/** SQLite: integers hold booleans and instants, JSON is text. */
export const sqliteKit = {
  table: sqliteTable,
  text: (name: string) => text(name),
  /** Whole numbers up to 2^53: counters, and instants in epoch milliseconds. */
  int: (name: string) => integer(name, { mode: "number" }),
  bool: (name: string) => integer(name, { mode: "boolean" }),
  bytes: customType<{ data: Uint8Array; driverData: Uint8Array }>({
    dataType: () => "blob",
    fromDriver: plainBytes,
  }),
  texts: customType<{ data: readonly string[]; driverData: string }>({
    dataType: () => "text",
    toDriver: (list) => JSON.stringify(list),
    fromDriver: readTexts,
  }),
  /** A primary key the database counts up by itself. */
  rowNumber: (name: string) =>
    integer(name, { mode: "number" }).primaryKey({ autoIncrement: true }),
  /**
   * A primary key that counts up, which the insert names: counting by itself writes a page more.
   */
  ordinal: (name: string) => integer(name, { mode: "number" }).primaryKey(),
  /** Marks rows that indexes, counters and text index have taken in (`engine/folds.ts`). */
  folding: () => ({
    folded: integer("folded", { mode: "boolean" }).notNull().default(false),
  }),
  /** An index over the rows taken in so far. */
  behind: (its: IndexBuilder): IndexBuilder => its.where(sql`folded`),
  /** The number of the certificate an event names, from when the event is taken in. */
  certificateOrdinal: () => ({
    certificateOrdinal: integer("certificate_ordinal", { mode: "number" }),
  }),
  /**
   * What finds the events of a certificate: by its number, since numbers grow as events do and
   * serials are random, each a page of its own; those that name none pkid has, by what they name.
   */
  eventsOfCertificates: (t: EventColumns): readonly IndexBuilder[] => [
    index("events_ca").on(t.caId).where(sql`folded`),
    index("events_numbered")
      .on(t.certificateOrdinal)
      .where(sql`folded and certificate_ordinal is not null`),
    index("events_certificate")
      .on(t.caId, t.serial)
      .where(sql`folded and certificate_ordinal is null and serial <> ''`),
  ],
  index,
  unique: uniqueIndex,
  primaryKey,
};

export type Kit = typeof sqliteKit;

type EventColumns = Readonly<Record<"caId" | "serial" | "certificateOrdinal", SQLiteColumn>>;

/**
 * PostgreSQL in SQLite's types. The assertion is true for what the repositories use: both dialects
 * build the same statements and map the same JavaScript values, which the contract suite proves on
 * both.
 */
export const postgresKit = {
  table: pgTable,
  text: (name: string) => pgText(name),
  int: (name: string) => bigint(name, { mode: "number" }),
  bool: (name: string) => boolean(name),
  bytes: pgCustom<{ data: Uint8Array; driverData: Uint8Array }>({
    dataType: () => "bytea",
    fromDriver: plainBytes,
  }),
  texts: pgCustom<{ data: readonly string[]; driverData: string }>({
    dataType: () => "text",
    toDriver: (list) => JSON.stringify(list),
    fromDriver: readTexts,
  }),
  rowNumber: (name: string) => bigserial(name, { mode: "number" }).primaryKey(),
  ordinal: (name: string) => bigserial(name, { mode: "number" }).primaryKey(),
  // Every index and counter is kept by the statement that changes a row.
  folding: () => ({}),
  behind: <T>(its: T): T => its,
  certificateOrdinal: () => ({}),
  eventsOfCertificates: (t: { readonly caId: PgColumn; readonly serial: PgColumn }) => [
    pgIndex("events_certificate").on(t.caId, t.serial),
  ],
  index: pgIndex,
  unique: pgUnique,
  primaryKey: pgPrimaryKey,
} as unknown as Kit;

/** Drivers give Buffers; the rest of pkid knows only Uint8Array. */
function plainBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function readTexts(text: string): readonly string[] {
  return JSON.parse(text) as readonly string[]; // Written by `toDriver` of the same column.
}
