/** Reads answers of the server without trusting their shape, and lays rows out for people. */

import { Table } from "./table.ts";

/** A JSON object as answered. */
export type Row = Readonly<Record<string, unknown>>;

/** The value as an object; empty when it is none. */
export function rowOf(value: unknown): Row {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return value as Row; // Checked above to be an object that is no list.
}

/** The member as a list of objects; empty when it is none. */
export function rowsAt(row: Row, key: string): readonly Row[] {
  const value = row[key];
  return Array.isArray(value) ? value.map(rowOf) : [];
}

/**
 * The member as text: lists joined by commas, objects as `name=value` pairs, absent values empty.
 */
export function textAt(row: Row, key: string): string {
  const value = row[key];
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map((one) => textAt({ one }, "one")).join(",");
  if (typeof value !== "object") return String(value);
  return Object.keys(value)
    .map((name) => `${name}=${textAt(rowOf(value), name)}`)
    .join(" ");
}

/** Aligned columns under a header; the last column is not padded. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  String(printableTable(head, rows));

const printableTable = (head: readonly string[], rows: readonly (readonly string[])[]): Table =>
  new Table(
    head,
    rows.map((row) => row.map(printable)),
  );

/** The named members of rows as a table; the header is the member's name. */
export function columns(rows: readonly Row[], keys: readonly string[]): Table {
  const head = keys.map((key) => key.replaceAll("_", " "));
  return printableTable(
    head,
    rows.map((row) => keys.map((key) => shortTime(textAt(row, key)) || "-")),
  );
}

/** One `name: value` line per member that has a value. */
export function facts(row: Row, keys: readonly string[]): string {
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
