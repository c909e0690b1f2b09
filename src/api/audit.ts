/** The audit chain in JSON: list and verify. */

import { actions, results } from "#core/audit/actions.ts";
import type { AuditEvent } from "#core/audit/chain.ts";
import { refuse } from "#core/problems.ts";
import {
  flag,
  oneOf,
  optional,
  parsed,
  shape,
  text,
  type ValueOf,
  words,
  WrongValue,
} from "#core/shape.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { anyScope, thePlatform } from "#domain/access/targets.ts";
import type { EventFilter } from "#domain/audit/store.ts";
import { verifyChain } from "#domain/audit/verify.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { serialField, timeField } from "./fields.ts";
import { listOf, pageFields, readableCa, readableTenant, sequencePageOf } from "./pages.ts";
import { count, present, serialText, time } from "./shapes.ts";

/** Handlers for `event.*`. */
export function auditHandlers(deps: { readonly store: Store }) {
  return {
    "event.list": eventList(deps.store),
    "event.verify": operation({
      summary: "Walk the whole audit chain and report the first broken link.",
      target: thePlatform,
      output: verdictShape,
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
      ...pageFields,
    },
    output: listOf(eventShape),
    run: async (call) => {
      const { limit: _limit, cursor: _cursor, ca, tenant, request_id, ...filters } = call.input;
      const filter: EventFilter = {
        ...filters,
        reach: call.reach,
        requestId: request_id,
        caId: ca === undefined ? undefined : await readableCa(store, ca, call.reach),
        tenant: await readableTenant(store, tenant, call.reach),
      };
      return await sequencePageOf("event.list", call, filter, eventJson, (limit, before) =>
        store.read.audit.events(filter, limit, before),
      );
    },
  });
}

/**
 * An action of the table, or the beginning of some and `.*`; a name nobody knows is not an empty
 * page (API-2).
 */
function actionField() {
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
