/** What a file of the access log holds, read behind the store's back. */

import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";

import { rowsIn, unpressed } from "#adapters/db/stores/access-log-packs.ts";
import { type Instant, instant } from "#core/time.ts";
import type { AccessLogRow, LoggedRequest } from "#domain/audit/store.ts";

/** A request of no interest, at an instant. */
export const plainRow = (at: Instant): AccessLogRow => ({
  at,
  requestId: "r",
  subject: "",
  method: "GET",
  route: "/",
  path: "/",
  status: 200,
  durationMs: 1,
  bytesOut: 2,
  ip: "192.0.2.1",
  userAgent: "",
});

/** Every row, in the order of their numbers; none where the file has not been begun. */
export function loggedRows(file: string): readonly LoggedRequest[] {
  if (!existsSync(file)) return [];
  const database = new Database(file, { readonly: true });
  try {
    database.run("pragma busy_timeout = 5000");
    const begun = database.query("select 1 from sqlite_master where name = 'access_packs'").get();
    if (begun === null) return [];
    const packs = database.query<Kept, []>("select first, packed from access_packs").all();
    const packed = packs.flatMap(({ first, packed: octets }) =>
      [...rowsIn(unpressed(octets))].map((row, at) => ({ ...row, id: first + at })),
    );
    const single = database.query("select * from access_log").all().map(loggedRow);
    return [...single, ...packed].sort((a, b) => a.id - b.id);
  } finally {
    database.close();
  }
}

/** A row of the table `access_log` by its columns. */
export function loggedRow(row: unknown): LoggedRequest {
  const column = (name: string): unknown => Reflect.get(Object(row), name);
  const text = (name: string) => String(column(name));
  const number = (name: string) => Number(column(name));
  return {
    id: number("id"),
    at: instant(number("at")),
    requestId: text("request_id"),
    subject: text("subject"),
    method: text("method"),
    route: text("route"),
    path: text("path"),
    status: number("status"),
    durationMs: number("duration_ms"),
    bytesOut: number("bytes_out"),
    ip: text("ip"),
    userAgent: text("user_agent"),
  };
}

interface Kept {
  readonly first: number;
  readonly packed: Uint8Array;
}
