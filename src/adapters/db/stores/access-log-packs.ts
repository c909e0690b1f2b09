/**
 * Rows of the access log in packs: many rows are one text, compressed, because writing each by
 * itself cost more than all the rest of an answer from memory, and ten times the disk.
 */

import { instant } from "#core/time.ts";
import type { AccessLogRow } from "#domain/audit/store.ts";

/** Rows that are written together. */
export interface Pack {
  readonly rows: number;
  /** The earliest time of them. */
  readonly oldest: number;
  /** The latest. */
  readonly newest: number;
  /** Their members, one behind the other. */
  readonly text: string;
}

/** Packs rows, of which there is at least one. */
export function packOf(rows: readonly AccessLogRow[]): Pack {
  let oldest = Number.MAX_SAFE_INTEGER;
  let newest = Number.MIN_SAFE_INTEGER;
  for (const { at } of rows) {
    if (at < oldest) oldest = at;
    if (at > newest) newest = at;
  }
  return { rows: rows.length, oldest, newest, text: rows.map(packed).join(separator) };
}

/** The text as it is kept. */
export const pressed = (text: string): Uint8Array => Bun.zstdCompressSync(text, { level: 1 });

/** The text of what is kept. */
export const unpressed = (octets: Uint8Array): string =>
  Buffer.from(Bun.zstdDecompressSync(octets as Uint8Array<ArrayBuffer>)).toString("utf8");

/** The rows of a text, in their order. */
export function* rowsIn(text: string): Generator<AccessLogRow> {
  const members = text.split(separator);
  for (let at = 0; at < members.length; at += membersOfRow) yield rowAt(members, at);
}

function rowAt(members: readonly string[], start: number): AccessLogRow {
  const text = (place: number) => members[start + place] ?? "";
  return {
    at: instant(Number(text(0))),
    requestId: text(1),
    subject: text(2),
    method: text(3),
    route: text(4),
    path: text(5),
    status: Number(text(6)),
    durationMs: Number(text(7)),
    bytesOut: Number(text(8)),
    ip: text(9),
    userAgent: text(10),
  };
}

/**
 * One row as text: copying one long text to a thread costs less than copying its thousands of
 * members.
 */
function packed(row: AccessLogRow): string {
  const { at, requestId, subject, method, route, path, status, durationMs, bytesOut } = row;
  const head = `${at}${separator}${requestId}${separator}${subject}${separator}${method}${separator}${route}`;
  const rest = `${path}${separator}${status}${separator}${durationMs}${separator}${bytesOut}`;
  return `${head}${separator}${rest}${separator}${row.ip}${separator}${row.userAgent}`;
}

/** No text of a row holds a NUL: the log takes it out of what strangers send. */
export const separator = "\0";
const membersOfRow = 11;
