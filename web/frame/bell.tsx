/** How many requests wait for the caller's approval; moves with the feed. */

import { hrefOf } from "#web/address.ts";
import { useAddress, useConsole } from "#web/console.ts";
import { countWords, decidableIn, useAskedPending } from "#web/decidable.ts";

/** Requests of the tenant that is chosen, asked for once for the whole frame. */
export const useApprovals = () => useAskedPending(approvalActions);

/** Of these, those the caller may decide on, in words; 0 until it is known. */
export function useWaiting(reply: ReturnType<typeof useApprovals>): string {
  const known = useConsole();
  if (reply?.kind !== "answered") return "0";
  const { items, has_more } = reply.answer;
  return countWords(decidableIn(known, items).length, !has_more);
}

/** Leads to the inbox, of the tenant that is chosen. */
export function Bell({ waiting }: { readonly waiting: string }) {
  const { tenant } = useAddress().query;
  return (
    <a
      class="button plain"
      href={hrefOf(["approvals"], { tenant })}
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
