/** What waits for the caller's decision: how many there are, as the server says, and where. */

import { type Address, hrefOf } from "./address.ts";
import { type Asking, useAsked } from "#web/ui/asked.tsx";
import { useConsole } from "./console.ts";
import { rightByRoles } from "./rights.ts";

/**
 * Asks for those of the chosen tenant: `total` says how many they are. Nothing is asked for whoever
 * can decide on none.
 */
export function useDecidable(live: readonly string[]): Asking<"approval.list"> {
  const known = useConsole();
  const { tenant } = known.address.query;
  const may = rightByRoles(known, "approval.approve").allowed;
  const members = may ? { decidable: true, tenant, limit: 1 } : undefined;
  return useAsked("approval.list", members, live);
}

/** The part of the page of approvals that lists them. */
export const inboxHref = ({ tenant }: Address["query"]): string =>
  hrefOf(["approvals"], { decidable: true, tenant });
