/** A request for approval as answers show it. */

import { timestamp } from "#core/time.ts";
import { Outcome } from "#domain/access/outcome.ts";
import {
  type ApprovalRecord,
  approvalsOf,
  type Decision,
  type ListedApproval,
} from "#domain/approvals/store.ts";

/** An approval as answers show it; members without a value are left out. */
export function approvalJson(approval: ListedApproval) {
  const { maker, failure, answer, tenant, decisions } = approval;
  const { decidedAt, executedAt, collectedAt } = approval;
  return {
    id: approval.id,
    ...given("tenant_id", tenant),
    operation_class: approval.operationClass,
    resource_key: approval.resourceKey,
    resource_name: approval.resourceName,
    fingerprint: approval.fingerprint,
    summary: approval.summary,
    details: approval.details,
    requested_by: maker.subject,
    ...given("requested_by_name", maker.name),
    required_approvals: approval.required,
    approvals_count: approvalsOf(approval),
    status: approval.status,
    attempts: approval.attempts,
    created_at: timestamp(approval.createdAt),
    expires_at: timestamp(approval.expiresAt),
    ...given("decided_at", decidedAt && timestamp(decidedAt)),
    ...given("executed_at", executedAt && timestamp(executedAt)),
    ...given("collected_at", collectedAt && timestamp(collectedAt)),
    ...given("failure", failure && failureJson(failure)),
    ...given("result", answer?.output),
    decisions: decisions.map(decisionJson),
  };
}

/**
 * The answer to a parked call (API-4), or to who asks for what is not there yet and may ask again
 * so many seconds later.
 */
export function parkedOutcome(approval: ApprovalRecord, retryAfterSeconds?: number) {
  const { id, required, operationClass } = approval;
  const certificate = `/api/approvals/${id}/certificate`;
  const issues = operationClass === "cert.issue";
  const people = required === 1 ? "another person" : `${required} other people`;
  const output = {
    status: "pending_approval",
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
  return {
    id,
    approver,
    ...given("approver_name", approverName || undefined),
    decision,
    ...given("comment", comment || undefined),
    created_at: timestamp(createdAt),
  };
}

const given = (name: string, value: unknown) => (value === undefined ? {} : { [name]: value });
