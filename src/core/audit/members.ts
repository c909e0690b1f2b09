/** The members of an event by the names they have in answers, documents and lines of logs. */

import type { AuditEvent } from "./chain.ts";

/** Every member of an event but its number, each a text. */
export type EventText = Exclude<keyof AuditEvent, "seq">;

/** Columns: the member, its name. In the order in which answers show them. */
export const eventTexts = {
  id: "id",
  timestamp: "timestamp",
  actor: "actor",
  action: "action",
  result: "result",
  actorName: "actor_name",
  actorRoles: "actor_roles",
  tenant: "tenant",
  target: "target",
  targetName: "target_name",
  caId: "ca_id",
  serial: "serial",
  detail: "detail",
  ip: "ip",
  requestId: "request_id",
  prevHash: "prev_hash",
  hash: "hash",
} as const satisfies Record<EventText, string>;

/** The texts that an event has, with their names; empty ones are absent (AUD-2). */
export const textsOf = (event: AuditEvent): readonly (readonly [name: string, text: string])[] =>
  Object.entries(eventTexts)
    // The keys of the table are members of every event.
    .map(([member, name]) => [name, event[member as EventText]] as const)
    .filter(([, text]) => text !== "");
