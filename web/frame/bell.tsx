/** How many requests wait for approval; moves with the feed. */

import { hrefOf } from "#web/address.ts";
import { useAsked } from "#web/ui/asked.tsx";

/** Leads to the inbox. */
export function Bell() {
  const { reply } = useAsked("approval.list", { status: "pending", limit: 1 }, approvalActions);
  const waiting = reply?.kind === "answered" ? reply.answer.total : 0;
  return (
    <a
      class="button plain"
      href={hrefOf(["approvals"])}
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
