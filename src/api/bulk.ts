/** Bulk issue in JSON: a plan, or an execution that may be repeated (API-9). */

import { defaultProfile } from "#core/policy/profiles.ts";
import { type Problem, refuse } from "#core/problems.ts";
import {
  decimal,
  either,
  flag,
  type Input,
  integer,
  list,
  many,
  object,
  oneOf,
  optional,
  otherwise,
  type Output,
  shape,
  text,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { mapInTurns } from "#core/turns.ts";
import { generalNameText } from "#core/x509/general-names.ts";
import { nameText } from "#core/x509/names.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { theCa } from "#domain/access/targets.ts";
import { certificatePem, pemBundle } from "#domain/authorities/bundle.ts";
import type {
  BulkIssue,
  BulkOutcome,
  BulkResult,
  BulkRequest,
  ItemGate,
  PlannedItem,
} from "#domain/certificates/bulk.ts";
import type { OperationName } from "#operations";
import { codeText, count, pemText, serialText, time } from "./shapes.ts";

interface Deps {
  readonly bulk: BulkIssue;
  /** Parks items that take two. */
  readonly itemGate: ItemGate;
}

/** The handler for `cert.issue_bulk`. */
export function bulkHandlers({ bulk, itemGate }: Deps) {
  return {
    "cert.issue_bulk": operation({
      summary:
        "Plan or issue many certificates; repeated under its operation id it issues the rest.",
      target: theCa,
      input: bulkFields,
      output: either(planShape, resultShape),
      refuses: [
        "ca_not_active",
        "confirm_count_mismatch",
        "operation_mismatch",
        "operation_running",
      ],
      run: async ({ origin, ca, input }) => {
        const items = input.items.map(requestOf);
        const { operation_id: operationId, concurrency, confirm_count: confirmed } = input;
        const order = { operationId, items, concurrency };
        if (input.dry_run) return await planJson(await bulk.plan(ca, order), items);
        if (confirmed === undefined) throw refuse("missing_field", { field: "confirm_count" });
        if (confirmed !== items.length) {
          const actual_count = items.length;
          throw refuse("confirm_count_mismatch", { confirm_count: confirmed, actual_count });
        }
        return await resultJson(await bulk.execute(origin, ca, order, itemGate), items);
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const itemFields = {
  ref: optional(text({ min: 1, max: 200 })),
  csr: text({ min: 1, max: 131_072 }),
  profile: otherwise(text({ min: 1, max: 100 }), defaultProfile),
  validity_days: optional(integer(1, 36_500)),
};

const bulkFields = {
  dry_run: otherwise(flag(), false),
  items: list(object(itemFields), 1, 10_000),
  confirm_count: optional(integer(1, 10_000)),
  operation_id: optional(text({ min: 1, max: 100, pattern: /^[A-Za-z0-9._-]+$/ })),
  concurrency: otherwise(integer(1, 64), 8),
};

const requestOf = (item: Input<typeof itemFields>, index: number): BulkRequest => ({
  ref: item.ref ?? `#${index}`,
  csr: item.csr,
  profile: item.profile,
  validityDays: item.validity_days,
});

/** Of items that are put into JSON, each with its certificate and chain. */
const itemsPerTurn = 100;

const nameMembers = { ref: words(), index: count, profile: words() };
const errorMembers = { error: optional(words()), error_code: optional(codeText) };

const plannedShape = shape({
  ...nameMembers,
  valid: flag(),
  subject: optional(words()),
  sans: optional(many(words())),
  requires_approval: flag(),
  ...errorMembers,
});

/** BulkPlan. */
const planShape = shape({
  operation_id: words(),
  ca_id: words(),
  ca_label: words(),
  requested: count,
  valid: count,
  invalid: count,
  need_approval: count,
  items: many(plannedShape),
});

const outcomeMembers = {
  status: oneOf(["issued", "pending", "failed"]),
  serial: optional(serialText),
  not_before: optional(time),
  not_after: optional(time),
  certificate: optional(pemText),
  chain: optional(pemText),
  approval_id: optional(words()),
  ...errorMembers,
};

/** BulkResult. */
const resultShape = shape({
  operation_id: words(),
  ca_id: words(),
  requested: count,
  issued: count,
  pending: count,
  failed: count,
  items: many(shape({ ...nameMembers, ...outcomeMembers })),
  duration_seconds: decimal(),
});

async function planJson(
  { operationId, ca, items }: Awaited<ReturnType<BulkIssue["plan"]>>,
  requests: readonly BulkRequest[],
): Promise<ValueOf<typeof planShape>> {
  const valid = items.filter(({ refusal }) => refusal === undefined).length;
  return {
    operation_id: operationId,
    ca_id: ca.id,
    ca_label: ca.label,
    requested: items.length,
    valid,
    invalid: items.length - valid,
    need_approval: items.filter(needsApproval).length,
    items: await mapInTurns(items, itemsPerTurn, (item, index) =>
      plannedJson(item, requests[index], index),
    ),
  };
}

const plannedJson = (
  item: PlannedItem,
  request: BulkRequest | undefined,
  index: number,
): ValueOf<typeof plannedShape> => ({
  ...namedBy(request, index),
  valid: item.refusal === undefined,
  ...(item.preview && {
    subject: nameText(item.preview.plan.subject),
    sans: item.preview.plan.sans.map(generalNameText),
  }),
  requires_approval: needsApproval(item),
  ...errorJson(item.refusal),
});

async function resultJson(
  result: BulkResult,
  requests: readonly BulkRequest[],
): Promise<ValueOf<typeof resultShape>> {
  const { operationId, ca, outcomes } = result;
  const issued = outcomes.filter((outcome) => "record" in outcome).length;
  const pending = outcomes.filter((outcome) => "approvalId" in outcome).length;
  return {
    operation_id: operationId,
    ca_id: ca.id,
    requested: outcomes.length,
    issued,
    pending,
    failed: outcomes.length - issued - pending,
    items: await mapInTurns(outcomes, itemsPerTurn, (outcome, index) => ({
      ...namedBy(requests[index], index),
      ...outcomeJson(outcome),
    })),
    duration_seconds: result.durationSeconds,
  };
}

function outcomeJson(outcome: BulkOutcome): Output<typeof outcomeMembers> {
  if ("approvalId" in outcome) return { status: "pending", approval_id: outcome.approvalId };
  if ("refusal" in outcome) return { status: "failed", ...errorJson(outcome.refusal) };
  const { record, intermediates } = outcome;
  return {
    status: "issued",
    serial: record.serial,
    not_before: timestamp(record.notBefore),
    not_after: timestamp(record.notAfter),
    certificate: certificatePem(record.certificate),
    chain: pemBundle([record.certificate, ...intermediates]),
  };
}

const namedBy = (request: BulkRequest | undefined, index: number): Output<typeof nameMembers> => ({
  ref: request?.ref ?? `#${index}`,
  index,
  profile: request?.profile ?? defaultProfile,
});

const needsApproval = ({ preview }: PlannedItem): boolean =>
  preview?.profile.requireApproval ?? false;

const errorJson = (refusal: Problem | undefined): Output<typeof errorMembers> =>
  refusal === undefined ? {} : { error: refusal.message, error_code: refusal.code };
