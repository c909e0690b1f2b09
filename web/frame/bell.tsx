/** How many requests wait for the caller's approval; moves with the feed. */

import { useAddress } from "#web/console.ts";
import { inboxHref, useAskedDecidable } from "#web/decidable.ts";

/** Requests of the tenant that is chosen, asked for once for the whole frame. */
export const useApprovals = () => useAskedDecidable(approvalActions);

/** How many of them the caller may decide on, in digits; 0 until it is known. */
export function waitingIn(reply: ReturnType<typeof useApprovals>): string {
  return reply?.kind === "answered" ? reply.answer.total.toLocaleString("en") : "0";
}

/** Leads to the inbox, of the tenant that is chosen. */
export function Bell({ waiting }: { readonly waiting: string }) {
  const { query } = useAddress();
  return (
    <a
      class="button plain"
      href={inboxHref(query)}
      aria-label={`${waiting} waiting for your approval`}
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
