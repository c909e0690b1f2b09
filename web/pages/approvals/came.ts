/** What became of a request and when, or until when something can become of it. */

import type { Answers } from "#api/answers.ts";

type Approval = Pick<
  Answers["approval.show"],
  "status" | "requested_by" | "decisions" | "failure" | "expires_at" | "decided_at" | "executed_at"
>;

export interface Came {
  /** A word for the time beside it. */
  readonly name: string;
  readonly at: string | undefined;
}

/** In words that stand before a time. */
export function cameOf(approval: Approval): Came {
  const { status, expires_at, decided_at, executed_at, failure } = approval;
  switch (status) {
    case "pending":
      return { name: "Lapses", at: expires_at };
    case "expired":
      return { name: "Lapsed", at: expires_at };
    case "rejected":
      return { name: isWithdrawn(approval) ? "Withdrawn" : "Rejected", at: decided_at };
    case "approved":
    case "executing":
      return { name: "Approved", at: decided_at };
    case "executed":
      return { name: "Executed", at: executed_at };
    case "failed":
      return failure?.retryable
        ? { name: "Failed; can be executed again until", at: expires_at }
        : { name: "Failed for good; approved", at: decided_at };
    default:
      return status satisfies never;
  }
}

/** Its maker's own no. */
const isWithdrawn = ({ decisions, requested_by }: Approval): boolean =>
  decisions.some(({ decision, approver }) => decision === "reject" && approver === requested_by);
