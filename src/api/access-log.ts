/** The access log in JSON: a page of it, or all that matches as a file. */

import { Document } from "#domain/access/outcome.ts";
import { integer, many, oneOf, optional, shape, text, type ValueOf, words } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { thePlatform } from "#domain/access/targets.ts";
import { exportAccessLog, exportedRowsMax } from "#domain/audit/access-log.ts";
import type { LoggedRequest } from "#domain/audit/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { timeField } from "./fields.ts";
import { listOf, pageFields, pageOf } from "./pages.ts";
import { count, time } from "./shapes.ts";

/** Handler for `access_log.list`. */
export function accessLogHandlers(deps: { readonly store: Store; readonly clock: Clock }) {
  return {
    "access_log.list": operation({
      summary: `Requests, newest first; with export=json a file of at most ${exportedRowsMax}.`,
      target: thePlatform,
      input: {
        user_sub: optional(text({ max: 200 })),
        status: optional(integer(100, 599)),
        path_prefix: optional(text({ min: 1, max: 1024 })),
        from: optional(timeField),
        to: optional(timeField),
        export: optional(oneOf(["json"])),
        ...pageFields,
      },
      output: { ...listOf(rowShape), media: ["application/json"], content: many(rowShape) },
      run: async (call) => {
        const { user_sub: subject, status, path_prefix: pathPrefix, from, to } = call.input;
        const filter = { subject, status, pathPrefix, from, to };
        if (call.input.export === undefined) {
          const load = deps.store.read.accessLog.page;
          return await pageOf("access_log.list", call, filter, rowJson, (limit, after) =>
            load(filter, limit, after),
          );
        }
        // Octets by the page: a hundred thousand rows as objects would be several times as large,
        // and one text of all of them is dear to put together and to encode.
        const pieces: Uint8Array[] = [];
        const write = (piece: string) => pieces.push(utf8.encode(piece));
        write("[");
        await exportAccessLog(deps, call.origin, filter, (rows) => {
          const lines = rows.map((row) => JSON.stringify(rowJson(row))).join(",\n");
          if (lines !== "") write(pieces.length === 1 ? lines : `,\n${lines}`);
        });
        write("]\n");
        return new Document({ content: pieces, ...attachment });
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const rowShape = shape({
  id: count,
  timestamp: time,
  request_id: words(),
  user_sub: words({ description: "Empty when nobody was known." }),
  method: words(),
  route: words(),
  path: words(),
  status: integer(100, 599),
  duration_ms: count,
  bytes_out: count,
  ip: words(),
  user_agent: words(),
});

const rowJson = (row: LoggedRequest): ValueOf<typeof rowShape> => ({
  id: row.id,
  timestamp: timestamp(row.at),
  request_id: row.requestId,
  user_sub: row.subject,
  method: row.method,
  route: row.route,
  path: row.path,
  status: row.status,
  duration_ms: row.durationMs,
  bytes_out: row.bytesOut,
  ip: row.ip,
  user_agent: row.userAgent,
});

const utf8 = new TextEncoder();
const attachment = {
  type: "application/json",
  fileName: "access-log.json",
  fleeting: true,
} as const;
