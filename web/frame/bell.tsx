/** How many requests wait for approval; moves with the feed. */

import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { useAsked } from "#web/ui/asked.tsx";

/** Leads to the inbox, of the tenant that is chosen. */
export function Bell() {
  const { tenant } = useAddress().query;
  const members = { status: "pending", tenant, limit: 1 };
  const { reply } = useAsked("approval.list", members, approvalActions);
  const waiting = reply?.kind === "answered" ? reply.answer.total : 0;
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
