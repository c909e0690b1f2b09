/** The audit chain: list and verify in JSON, and as a file in the formats of collectors. */

import { actions, results } from "#core/audit/actions.ts";
import type { AuditEvent } from "#core/audit/chain.ts";
import { cefLine, type LineOrigin, rfc5424Line } from "#core/audit/formats.ts";
import { refuse } from "#core/problems.ts";
import {
  flag,
  integer,
  oneOf,
  optional,
  otherwise,
  parsed,
  shape,
  text,
  type ValueOf,
  words,
  WrongValue,
} from "#core/shape.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { Document } from "#domain/access/outcome.ts";
import { anyScope, thePlatform } from "#domain/access/targets.ts";
import { exportEvents } from "#domain/audit/event-export.ts";
import type { EventFilter } from "#domain/audit/store.ts";
import { verifyChain } from "#domain/audit/verify.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { serialField, timeField } from "./fields.ts";
import { listOf, pageFields, readableIssuer, readableTenant, sequencePageOf } from "./pages.ts";
import { count, present, serialText, time } from "./shapes.ts";

export interface AuditHandlerDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Who the lines of an export say they come from. */
  readonly lines: LineOrigin;
}

/** Handlers for `event.*`. */
export function auditHandlers(deps: AuditHandlerDeps) {
  return {
    "event.list": eventList(deps.store),
    "event.export": eventExport(deps),
    "event.verify": operation({
      summary: "Walk the whole audit chain and report the first broken link.",
      target: thePlatform,
      output: verdictShape,
      refuses: ["chain_broken"],
      run: async () => {
        const verdict = await verifyChain(deps.store.read);
        if (!verdict.valid) {
          const { brokenAtSeq, reason } = verdict;
          throw refuse("chain_broken", { valid: false, broken_at_seq: brokenAtSeq, reason });
        }
        const { events, headSeq, headHash } = verdict;
        const head = { head_seq: headSeq, head_hash: headHash };
        return { valid: true, events, ...head, anchors_checked: 0 };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

function eventList(store: Store) {
  return operation({
    summary: "Audit events, newest first.",
    target: anyScope,
    input: {
      action: optional(actionField()),
      actor: optional(text({ max: 200 })),
      result: optional(oneOf(results)),
      ca: optional(text({ max: 64 })),
      serial: optional(serialField),
      request_id: optional(text({ max: 128 })),
      tenant: optional(text({ max: 64 })),
      from: optional(timeField),
      to: optional(timeField),
      before_seq: optional(integer(1, Number.MAX_SAFE_INTEGER)),
      ...pageFields,
    },
    output: listOf(eventShape),
    run: async (call) => {
      const { limit: _limit, cursor: _cursor, before_seq, ...wanted } = call.input;
      const { ca, tenant, request_id, ...filters } = wanted;
      const filter: EventFilter = {
        ...filters,
        reach: call.reach,
        requestId: request_id,
        caId: await readableIssuer(store, { ca, serial: filters.serial }, call.reach),
        tenant: await readableTenant(store, tenant, call.reach),
      };
      const bound = { ...filter, before_seq };
      return await sequencePageOf("event.list", call, bound, eventJson, (limit, before) =>
        store.read.audit.events(filter, limit, before ?? before_seq),
      );
    },
  });
}

function eventExport(deps: AuditHandlerDeps) {
  return operation({
    summary: "The audit chain as a file, oldest first: JSON lines that verify offline, or syslog.",
    target: thePlatform,
    input: {
      format: otherwise(oneOf(exportFormats), "json"),
      from: optional(timeField),
      to: optional(timeField),
    },
    output: { media: [ndjson, "text/plain"] },
    run: async ({ input, origin }) => {
      const { format, from, to } = input;
      if (from !== undefined && to !== undefined && from > to) {
        throw refuse("bad_query", { parameter: "from", reason: "must not be later than to" });
      }
      const lines = linesOf(await exportEvents(deps, origin, { from, to }), writers[format], deps);
      return new Document({ content: lines, ...files[format], fleeting: true });
    },
  });
}

/** A piece for each page. */
async function* linesOf(
  pages: AsyncGenerator<readonly AuditEvent[]>,
  write: (event: AuditEvent, origin: LineOrigin) => string,
  { lines }: Pick<AuditHandlerDeps, "lines">,
) {
  for await (const page of pages) {
    yield utf8.encode(page.map((event) => `${write(event, lines)}\n`).join(""));
  }
}

const exportFormats = ["json", "rfc5424", "cef"] as const;
const ndjson = "application/x-ndjson";
const files = {
  json: { fileName: "events.ndjson", type: ndjson },
  rfc5424: { fileName: "events.log", type: "text/plain" },
  cef: { fileName: "events.cef", type: "text/plain" },
} as const;
const writers = {
  json: (event: AuditEvent) => JSON.stringify(eventJson(event)),
  rfc5424: rfc5424Line,
  cef: cefLine,
} as const;
const utf8 = new TextEncoder();

/**
 * An action of the table, or the beginning of some and `.*`; a name nobody knows is not an empty
 * page (API-2).
 */
export function actionField() {
  const known: readonly string[] = Object.keys(actions);
  return parsed({ type: "string", maxLength: 64 }, (given) => {
    const prefix = given.endsWith(".*") ? given.slice(0, -1) : undefined;
    const named = known.some((one) =>
      prefix === undefined ? one === given : one.startsWith(prefix),
    );
    if (!named) throw new WrongValue("names no action");
    return given;
  });
}

/** An event as answers show it: its texts are those that are stored and hashed. */
export const eventShape = shape({
  seq: count,
  id: words(),
  timestamp: time,
  actor: words(),
  action: words(),
  result: words({ enum: results }),
  actor_name: optional(words()),
  actor_roles: optional(words()),
  tenant: optional(words()),
  target: optional(words()),
  target_name: optional(words()),
  ca_id: optional(words()),
  serial: optional(serialText),
  detail: optional(words()),
  ip: optional(words()),
  request_id: optional(words()),
  prev_hash: words(),
  hash: words(),
});

const verdictShape = shape({
  valid: flag(),
  events: count,
  head_seq: count,
  head_hash: words(),
  anchors_checked: count,
});

/** An event as answers show it; empty members are left out (AUD-2). */
export function eventJson(event: AuditEvent) {
  return present<ValueOf<typeof eventShape>>({
    seq: event.seq,
    id: event.id,
    timestamp: event.timestamp,
    actor: event.actor,
    action: event.action,
    result: event.result,
    actor_name: event.actorName || undefined,
    actor_roles: event.actorRoles || undefined,
    tenant: event.tenant || undefined,
    target: event.target || undefined,
    target_name: event.targetName || undefined,
    ca_id: event.caId || undefined,
    serial: event.serial || undefined,
    detail: event.detail || undefined,
    ip: event.ip || undefined,
    request_id: event.requestId || undefined,
    prev_hash: event.prevHash,
    hash: event.hash,
  });
}
