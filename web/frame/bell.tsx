/** How many requests wait for approval; moves with the feed. */

import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { useAsked } from "#web/ui/asked.tsx";

/** Those of the tenant that is chosen; 0 until it is known. */
export function useWaiting(): number {
  const { tenant } = useAddress().query;
  const members = { status: "pending", tenant, limit: 1 };
  const { reply } = useAsked("approval.list", members, approvalActions);
  return reply?.kind === "answered" ? reply.answer.total : 0;
}

/** Leads to the inbox, of the tenant that is chosen. */
export function Bell({ waiting }: { readonly waiting: number }) {
  const { tenant } = useAddress().query;
  return (
    <a
      class="button plain"
      href={hrefOf(["approvals"], { tenant })}
      aria-label={`${waiting} waiting for approval`}
    >
      <span aria-hidden="true">⚑</span> {waiting}
    </a>
  );
}

/** Whatever ends in one of these words, so every class, also those to come. */
const approvalActions = [
  "ca.create.*",
  "ca.rotate.*",
  "ca.retire.*",
  "revocation.bulk.*",
  "kek.rotate.*",
  "token.create.*",
  "cert.issue.*",
];
