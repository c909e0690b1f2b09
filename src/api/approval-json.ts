/** A request for approval as answers show it. */

import { approvalClasses, approvalStatuses } from "#core/approvals/classes.ts";
import { anything, flag, many, oneOf, optional, shape, type ValueOf, words } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { Outcome } from "#domain/access/outcome.ts";
import {
  type ApprovalRecord,
  approvalsOf,
  type Decision,
  decisions,
  type ListedApproval,
} from "#domain/approvals/store.ts";
import { count, present, time, timeText } from "./shapes.ts";

const decisionShape = shape({
  id: words(),
  approver: words(),
  approver_name: optional(words()),
  decision: oneOf(decisions),
  comment: optional(words()),
  created_at: time,
});

/** A request for approval as answers show it. */
export const approvalShape = shape({
  id: words(),
  tenant_id: optional(words()),
  operation_class: oneOf(approvalClasses),
  /** A name of the table of operations: what its maker repeats to be answered. */
  operation: words(),
  resource_key: words(),
  resource_name: words(),
  fingerprint: words(),
  summary: words(),
  details: anything({ type: "object", description: "Everything that would be executed." }),
  requested_by: words(),
  requested_by_name: optional(words()),
  required_approvals: count,
  approvals_count: count,
  status: oneOf(approvalStatuses),
  attempts: count,
  created_at: time,
  expires_at: time,
  decided_at: optional(time),
  executed_at: optional(time),
  collected_at: optional(time),
  failure: optional(shape({ code: words(), error: words(), retryable: flag() })),
  result: optional(anything({ type: "object", description: "What the operation answered." })),
  decisions: many(decisionShape),
});

/** The answer to a call that waits for approval (API-4). */
export const parkedShape = shape({
  status: oneOf(["pending_approval"]),
  message: words(),
  approval_id: words(),
  required_approvals: count,
  approvals_count: count,
  approval: approvalShape,
  certificate_url: optional(words()),
});

/** An approval as answers show it; members without a value are left out. */
export function approvalJson(approval: ListedApproval) {
  const { maker, failure, answer, decisions } = approval;
  return present<ValueOf<typeof approvalShape>>({
    id: approval.id,
    tenant_id: approval.tenant,
    operation_class: approval.operationClass,
    operation: approval.operation,
    resource_key: approval.resourceKey,
    resource_name: approval.resourceName,
    fingerprint: approval.fingerprint,
    summary: approval.summary,
    details: approval.details,
    requested_by: maker.subject,
    requested_by_name: maker.name,
    required_approvals: approval.required,
    approvals_count: approvalsOf(approval),
    status: approval.status,
    attempts: approval.attempts,
    created_at: timestamp(approval.createdAt),
    expires_at: timestamp(approval.expiresAt),
    decided_at: timeText(approval.decidedAt),
    executed_at: timeText(approval.executedAt),
    collected_at: timeText(approval.collectedAt),
    failure: failure && failureJson(failure),
    result: answer?.output,
    decisions: decisions.map(decisionJson),
  });
}

/**
 * The answer to a parked call (API-4), or to who asks for what is not there yet and may ask again
 * so many seconds later.
 */
export function parkedOutcome(
  approval: ApprovalRecord,
  retryAfterSeconds?: number,
): Outcome<ValueOf<typeof parkedShape>> {
  const { id, required, operationClass } = approval;
  const certificate = `/api/approvals/${id}/certificate`;
  const issues = operationClass === "cert.issue";
  const people = required === 1 ? "another person" : `${required} other people`;
  const output = {
    status: "pending_approval" as const,
    message: `The operation waits for approval by ${people}.`,
    approval_id: id,
    required_approvals: required,
    approvals_count: approvalsOf(approval),
    approval: approvalJson(approval),
    ...(issues ? { certificate_url: certificate } : {}),
  };
  return new Outcome("parked", output, {
    approval: id,
    ...(issues && { location: certificate }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });
}

const failureJson = ({ code, error, retryable }: NonNullable<ApprovalRecord["failure"]>) => ({
  code,
  error,
  retryable,
});

function decisionJson({ id, approver, approverName, decision, comment, createdAt }: Decision) {
  return present<ValueOf<typeof decisionShape>>({
    id,
    approver,
    approver_name: approverName || undefined,
    decision,
    comment: comment || undefined,
    created_at: timestamp(createdAt),
  });
}
