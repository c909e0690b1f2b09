/** Which requests for approval the caller may decide on, as far as the console can know. */

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { useAsked } from "#web/ui/asked.tsx";
import type { Reply } from "./api.ts";
import { type Console, useConsole } from "./console.ts";
import { rightByRoles } from "./rights.ts";

type Approval = Answers["approval.list"]["items"][number];
type Known = Pick<Console, "caller" | "tenants">;

/** Why the state of the request keeps the caller from approving it; undefined where it does not. */
export function whyNotApproved(
  { caller }: Pick<Console, "caller">,
  { status, requested_by, decisions }: Pick<Approval, "status" | "requested_by" | "decisions">,
): string | undefined {
  if (status !== "pending") return `It is ${status}.`;
  if (requested_by === caller.sub) return "You made it: somebody else must approve.";
  const decided = decisions.some(({ approver }) => approver === caller.sub);
  return decided ? "You have decided it." : undefined;
}

/** Those that wait for the caller among others. */
export function decidableIn(known: Known, approvals: readonly Approval[]): readonly Approval[] {
  return approvals.filter(
    (one) =>
      whyNotApproved(known, one) === undefined &&
      rightByRoles(known, "approval.approve", { tenantId: one.tenant_id }).allowed,
  );
}

/**
 * Pending requests of the chosen tenant, for the frame, which gives them to its pages; nothing is
 * asked for whoever can decide on none.
 */
export function useAskedPending(live: readonly string[]): Pending {
  const known = useConsole();
  const { tenant } = known.address.query;
  const may = rightByRoles(known, "approval.approve").allowed;
  const members = may ? { status: "pending", tenant, limit: pendingMax } : undefined;
  return useAsked("approval.list", members, live).reply;
}

type Pending = Reply<Answers["approval.list"]> | undefined;

/** The same as the frame knows them. */
export const PendingContext = createContext<Pending>(undefined);
export const usePending = (): Pending => useContext(PendingContext);

/** How many that are, in words where not all were looked at. */
export const countWords = (count: number, isAll: boolean): string =>
  isAll ? count.toLocaleString("en") : `${count.toLocaleString("en")}+`;

const pendingMax = 100;
