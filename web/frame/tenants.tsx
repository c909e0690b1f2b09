/** Keeps in the frame which tenants there are for the caller, as they come, change and go. */

import { useEffect } from "preact/hooks";
import { type Tenant, useAddress } from "#web/console.ts";
import { useAside } from "#web/ui/asked.tsx";
import { isTenant, tenantsMax } from "#web/ui/tenants.ts";

export interface KnownTenants {
  readonly tenants: readonly Tenant[];
  readonly moreTenants: boolean;
}

export const noTenants: KnownTenants = { tenants: [], moreTenants: false };

interface TenantsWatchProps {
  readonly onKnown: (known: KnownTenants) => void;
}

/** Draws nothing. One page of them, and the one that the address names where that has it not. */
export function TenantsWatch({ onKnown }: TenantsWatchProps) {
  const { tenant: named = "" } = useAddress().query;
  const { reply } = useAside("tenant.list", { limit: tenantsMax }, ["tenant.*"]);
  const answer = reply?.kind === "answered" ? reply.answer : undefined;
  const isAbsent = answer?.has_more === true && named !== "" && !answer.items.some(isTenant(named));
  const asked = useAside("tenant.show", isAbsent ? { id: named } : undefined, ["tenant.*"]);
  const shown = asked.reply?.kind === "answered" ? asked.reply.answer : undefined;
  const absent = isAbsent && shown !== undefined && isTenant(named)(shown) ? shown : undefined;
  useEffect(() => {
    if (answer === undefined) return;
    const { items, has_more: moreTenants } = answer;
    onKnown({ tenants: absent === undefined ? items : [...items, absent], moreTenants });
  }, [answer, absent, onKnown]);
  return null;
}
