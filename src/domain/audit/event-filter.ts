/** Which events a filter selects, asked of one event as the store asks it of its rows. */

import { coversCa } from "#core/access/principal.ts";
import type { AuditEvent } from "#core/audit/chain.ts";
import type { CaId, TenantId } from "#core/ids.ts";
import type { EventFilter } from "./store.ts";

/** True for what `AuditReads.events` with this filter has among its rows. */
export function fits(filter: EventFilter, event: AuditEvent): boolean {
  const { reach, action, from, to } = filter;
  // Both are empty where the event has none, which is no id of anything.
  const about = { id: event.caId as CaId, tenant: event.tenant as TenantId };
  if (reach !== "platform" && !coversCa(reach, about)) return false;
  if (action !== undefined && !named(event.action, action)) return false;
  if (from !== undefined && Date.parse(event.timestamp) < from) return false;
  if (to !== undefined && Date.parse(event.timestamp) >= to) return false;
  for (const name of exact) {
    if (filter[name] !== undefined && filter[name] !== event[name]) return false;
  }
  return true;
}

const named = (action: string, wanted: string): boolean =>
  wanted.endsWith(".*") ? action.startsWith(wanted.slice(0, -1)) : action === wanted;

const exact = ["actor", "result", "caId", "serial", "requestId", "tenant"] as const;
