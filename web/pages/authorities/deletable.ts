/** Why a CA cannot be deleted, as far as that is known before it is asked for. */

import { useAside } from "#web/ui/asked.tsx";
import { type Ca, caActions } from "./ca.ts";
import { counted } from "./dependants.ts";
import { serverNow } from "#web/server-clock.ts";

/** Undefined where it can be, or where only the server knows. */
export function useWhyNotDeleted(ca: Ca): string | undefined {
  const { id, status } = ca;
  // One that is pending has signed nothing, and one past its end may be deleted with what it had.
  const asks = status !== "pending" && !isPast(ca);
  const issued = useAside("cert.list", asks ? { id, limit: 1 } : undefined, ["cert.*"]);
  const below = useAside("ca.list", asks ? { parent_id: id, limit: 1 } : undefined, caActions);
  if (ca.predecessor_id !== undefined || ca.successor_id !== undefined) {
    return "It is part of a rollover.";
  }
  if (!asks) return undefined;
  const certificates = issued.reply?.kind === "answered" ? issued.reply.answer.total : 0;
  const cas = below.reply?.kind === "answered" ? below.reply.answer.total : 0;
  if (certificates > 0) return `It has signed ${counted(certificates, "certificate")}.`;
  return cas > 0 ? `It has signed ${counted(cas, "CA")}.` : undefined;
}

const isPast = ({ not_after }: Ca): boolean =>
  not_after !== undefined && Date.parse(not_after) < serverNow();
