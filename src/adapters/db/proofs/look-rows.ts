/** Queries of a proof: in either dialect, a page at a time. */

import { type Connection, placeholder, type Value } from "#adapters/db/engine/connection.ts";

/** A query with `%1` to `%9` as its values, in the words of the dialect. */
export const marked = (connection: Pick<Connection, "dialect">, text: string): string =>
  connection.dialect === "sqlite"
    ? text.replaceAll(/%(\d)/g, "?$1")
    : text.replaceAll(/%(\d)/g, (_, at) => placeholder(connection, Number(at)));

/** All rows of one query. */
export async function asked(
  connection: Connection,
  text: string,
  values: readonly Value[] = [],
): Promise<readonly (readonly unknown[])[]> {
  return await connection.rows(marked(connection, text), values);
}

/**
 * Rows in pages, in the order of their first columns, which come first in each row:
 * `%1` and on in the text stand for the last row seen, the next number for the page's length.
 */
export async function* paged(
  connection: Connection,
  text: string,
  first: readonly Value[],
): AsyncGenerator<readonly (readonly unknown[])[]> {
  const query = marked(connection, text);
  for (let after = first; ; ) {
    const page = await connection.rows(query, [...after, pageRows]);
    if (page.length > 0) yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageRows) return;
    // Keys are texts and whole numbers.
    after = last.slice(0, first.length).map(plain);
  }
}

/** PostgreSQL gives large whole numbers as text, or as what JavaScript makes of them. */
const plain = (value: unknown): Value =>
  typeof value === "bigint" ? Number(value) : (value as Value); // Texts and numbers of a key.

/** Of octets where a text should be, their digits. */
export const textOf = (value: unknown): string =>
  value instanceof Uint8Array ? value.toHex() : value === null ? "" : String(value);
export const numberOf = (value: unknown): number | undefined =>
  value === null || value === undefined ? undefined : Number(value);
/** Octets as every reader of DER expects them. */
export const octetsOf = (value: unknown): Uint8Array =>
  value instanceof Uint8Array
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array();

/** Of certificates with octets too: a page is a few hundred kilobytes. */
const pageRows = 250;
