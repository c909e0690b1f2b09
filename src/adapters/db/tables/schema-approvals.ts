/**
 * The tables of approvals: what waits for other people, what they decided, and which operations
 * were done.
 */

import type { Kit } from "./kit.ts";
import { personColumns } from "./people.ts";

/** Builds them with the columns of one dialect. */
export function approvalTables(k: Kit) {
  return { approvals: requestsTable(k), ...decisionTables(k) };
}

function requestsTable(k: Kit) {
  const madeBy = personColumns(k, "maker");
  return k.table(
    "approvals",
    {
      id: k.text("id").primaryKey(),
      tenant: k.text("tenant"),
      operationClass: k.text("operation_class").notNull(),
      operation: k.text("operation").notNull(),
      resourceKey: k.text("resource_key").notNull(),
      resourceName: k.text("resource_name").notNull(),
      fingerprint: k.text("fingerprint").notNull(),
      summary: k.text("summary").notNull(),
      /** JSON, as all columns that are not single words, times and numbers. */
      details: k.text("details").notNull(),
      input: k.text("input").notNull(),
      maker: k.text("maker").notNull(),
      /** The person behind the maker. */
      makerSubject: k.text("maker_subject").notNull(),
      makerVoucher: madeBy.voucher,
      makerIssuer: madeBy.issuer,
      makerAddress: k.text("maker_address").notNull(),
      ip: k.text("ip").notNull(),
      requestId: k.text("request_id").notNull(),
      required: k.int("required").notNull(),
      status: k.text("status").notNull(),
      attempts: k.int("attempts").notNull(),
      createdAt: k.int("created_at").notNull(),
      expiresAt: k.int("expires_at").notNull(),
      decidedAt: k.int("decided_at"),
      executedAt: k.int("executed_at"),
      collectedAt: k.int("collected_at"),
      failure: k.text("failure"),
      effect: k.text("effect"),
      answer: k.text("answer"),
      secret: k.text("secret").notNull(),
      /** The store that executes it. */
      owner: k.int("owner").notNull(),
      /** Fingerprint of an open request; null once it is closed. */
      openKey: k.text("open_key"),
    },
    (t) => [
      k.unique("approvals_open").on(t.openKey, t.makerVoucher, t.makerIssuer, t.makerSubject),
      k.index("approvals_paging").on(t.createdAt, t.id),
      k.index("approvals_fingerprint").on(t.fingerprint),
      k.index("approvals_status").on(t.status, t.expiresAt),
    ],
  );
}

function decisionTables(k: Kit) {
  const decidedBy = personColumns(k, "person");
  const approvalDecisions = k.table(
    "approval_decisions",
    {
      id: k.text("id").primaryKey(),
      approval: k.text("approval").notNull(),
      approver: k.text("approver").notNull(),
      approverName: k.text("approver_name").notNull(),
      personSubject: decidedBy.subject,
      personVoucher: decidedBy.voucher,
      personIssuer: decidedBy.issuer,
      personAddress: decidedBy.address,
      decision: k.text("decision").notNull(),
      comment: k.text("comment").notNull(),
      createdAt: k.int("created_at").notNull(),
    },
    (t) => [
      k
        .unique("approval_decisions_person")
        .on(t.approval, t.personVoucher, t.personIssuer, t.personSubject),
    ],
  );
  /** One row for each approved operation that was done, in the transaction that did it. */
  const approvalEffects = k.table("approval_effects", {
    approval: k.text("approval").primaryKey(),
  });
  return { approvalDecisions, approvalEffects };
}
