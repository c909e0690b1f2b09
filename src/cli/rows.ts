/** Reads answers of the server without trusting their shape, and lays rows out for people. */

import { GrowingTable, Table } from "./table.ts";

/**
 * A JSON object as answered, by the names of the members that `A` has: their values are not
 * believed, and read by the functions below. Unknown `A` may have any.
 */
export type Row<A = unknown> = { readonly [Name in NameIn<A>]?: unknown } & {
  readonly [told]?: A;
};

/** Only the compiler knows of it: what the object was told to be. */
declare const told: unique symbol;

/** Of several shapes the names that any of them has. */
type NameIn<A> = unknown extends A
  ? string
  : A extends readonly unknown[]
    ? never
    : A extends object
      ? keyof A & string
      : never;

/** The names a row may be asked for: those of any of its kinds. */
export type NameOf<R> = R extends unknown ? keyof R & string : never;

/** What stands under a name of a row. */
type Under<R, Name> = R extends { readonly [told]?: infer A } ? ValueIn<A, Name> : unknown;
type ValueIn<A, Name> = unknown extends A ? unknown : A extends object ? MemberIn<A, Name> : never;
type MemberIn<A, Name> = Name extends keyof A ? NonNullable<A[Name]> : never;
type ItemOf<L> = unknown extends L ? unknown : L extends readonly (infer Item)[] ? Item : never;

/** One of the objects of a list in a row. */
export type ItemIn<R, Name> = Row<ItemOf<Under<R, Name>>>;

/** The value as an object; empty when it is none. */
export function rowOf<A = unknown>(value: unknown): Row<A> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return value as Row<A>; // An object that is no list; nothing is said of its members.
}

/** The member as an object; empty when it is none. */
export const rowAt = <R extends object, const Name extends NameOf<R>>(row: R, name: Name) =>
  rowOf<Under<R, Name>>(valueAt(row, name));

/** The member as a list of objects; empty when it is none. */
export function rowsAt<R extends object, const Name extends NameOf<R>>(
  row: R,
  name: Name,
): readonly ItemIn<R, Name>[] {
  const value = valueAt(row, name);
  return Array.isArray(value) ? value.map((one) => rowOf(one)) : [];
}

/**
 * The member as text: lists joined by commas, objects as `name=value` pairs, absent values empty.
 */
export function textAt<R extends object>(row: R, name: NameOf<R>): string {
  const value = valueAt(row, name);
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map((one) => textAt({ one }, "one")).join(",");
  if (typeof value !== "object") return String(value);
  return Object.keys(value)
    .map((key) => `${key}=${textAt(rowOf(value), key)}`)
    .join(" ");
}

const valueAt = (row: object, name: string): unknown => (row as Row)[name]; // Any object is one.

/** The names that an object has itself. */
export const namesOf = <R extends object>(row: R): readonly NameOf<R>[] =>
  Object.keys(row) as NameOf<R>[]; // Whatever it has, it may be asked for.

/** Aligned columns under a header; the last column is not padded. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  String(printableTable(head, rows));

const printableTable = (head: readonly string[], rows: readonly (readonly string[])[]): Table =>
  new Table(
    head,
    rows.map((row) => row.map(printable)),
  );

/** The named members of rows as a table; the header is the member's name. */
export const columns = <R extends object>(rows: readonly R[], keys: readonly NameOf<R>[]): Table =>
  printableTable(titlesOf(keys), rows.map(cellsOf(keys)));

/** The same of rows that come one after the other: gives the lines of those that have come. */
export function growingColumns<R extends object>(keys: readonly NameOf<R>[]) {
  const table = new GrowingTable(titlesOf(keys));
  return (rows: readonly R[]): string =>
    table.lines(rows.map((row) => cellsOf(keys)(row).map(printable)));
}

const titlesOf = (keys: readonly string[]) => keys.map((key) => key.replaceAll("_", " "));

const cellsOf =
  <R extends object>(keys: readonly NameOf<R>[]) =>
  (row: R): readonly string[] =>
    keys.map((key) => shortTime(textAt(row, key)) || "-");

/** One `name: value` line per member that has a value. */
export function facts<R extends object>(row: R, keys: readonly NameOf<R>[]): string {
  const present = keys.filter((key) => textAt(row, key) !== "");
  const width = Math.max(0, ...present.map((key) => key.length));
  return present
    .map((key) => {
      const name = `${key.replaceAll("_", " ")}:`.padEnd(width + 2);
      return `${name}${printable(shortTime(textAt(row, key)))}\n`;
    })
    .join("");
}

/** Control characters replaced, so that a name in a certificate cannot drive the terminal. */
export const printable = (text: string): string => text.replace(driving, "\ufffd");

/**
 * The document as JSON. On a terminal what could drive it is escaped, which reads as the same
 * document (RFC 8259 §7); JSON itself escapes C0 alone.
 */
export function jsonFor({ isTerminal }: { readonly isTerminal: boolean }, document: unknown) {
  const text = JSON.stringify(document);
  if (!isTerminal) return text;
  return text.replace(driving, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The same of a text of several lines. */
export const printableLines = (text: string): string => text.split("\n").map(printable).join("\n");

/** The text as one word of a shell's line. */
export const shellWord = (text: string): string =>
  /^[A-Za-z0-9._:/@,+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** A timestamp of the wire in whole seconds; any other text as it is. */
const shortTime = (text: string): string =>
  text.replace(/^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\.\d{6}Z$/, "$1Z");

/** Controls, line breaks of Unicode, and what turns the direction of a text. */
const driving = /[\p{Cc}\u200e\u200f\u061c\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
