/** Certificate transparency in JSON: which logs kept which SCT. */

import { serialField } from "./fields.ts";
import {
  flag,
  integer,
  many,
  oneOf,
  optional,
  type Output,
  shape,
  text,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { anyScope, thePlatform } from "#domain/access/targets.ts";
import { type CertificateRecord, ctStatuses } from "#domain/certificates/store.ts";
import type { Store } from "#domain/store.ts";
import type { InclusionMonitor } from "#domain/inclusion/inclusion.ts";
import {
  type InclusionFilter,
  type InclusionRecord,
  inclusionStatuses,
} from "#domain/transparency/store.ts";
import type { OperationName } from "#operations";
import { listMembers, pageFields, pageOf, readableIssuer } from "./pages.ts";
import { count, serialText, time } from "./shapes.ts";

/** Handlers for `ct.*`. */
export function transparencyHandlers(deps: {
  readonly store: Store;
  readonly monitor: Pick<InclusionMonitor, "run">;
}) {
  return {
    "ct.inclusion": inclusionList(deps.store),
    "ct.verify": operation({
      summary: "Check now whether transparency logs include what they gave SCTs for.",
      target: thePlatform,
      input: { max: optional(integer(1, 100_000)) },
      output: runShape,
      run: async (call) => await deps.monitor.run(call.input.max),
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

function inclusionList(store: Store) {
  return operation({
    summary: "Promises of transparency logs and whether they were kept, newest first.",
    target: anyScope,
    input: {
      status: optional(oneOf(inclusionStatuses)),
      ca: optional(text({ max: 64 })),
      serial: optional(serialField),
      ...pageFields,
    },
    output: inclusionListShape,
    run: async (call) => {
      const { status, ca, serial } = call.input;
      const filter: InclusionFilter = {
        reach: call.reach,
        status,
        serial,
        caId: await readableIssuer(store, { ca, serial }, call.reach),
      };
      const { inclusions, counts } = store.read.transparency;
      const page = await pageOf("ct.inclusion", call, filter, inclusionJson, (limit, after) =>
        inclusions(filter, limit, after),
      );
      const { pending, included, failed, unknown_log } = await counts(filter);
      return { ...page, counts: { pending, included, failed, unknown_log } };
    },
  });
}

const runShape = shape({ checked: count, included: count, failed: count, unknown: count });

/** What logs said of a certificate, as `ctJson` shows it. */
export const ctShape = shape({
  enabled: flag(),
  embedded: flag(),
  sct_count: count,
  operators: many(words()),
  status: oneOf(ctStatuses),
  logs: many(shape({ log: words(), operator: words(), ok: flag(), error: optional(words()) })),
});

/**
 * What the logs said of a certificate that was just issued (CT-5); nothing where no log was asked.
 */
export function ctJson({ ct }: CertificateRecord): { readonly ct?: ValueOf<typeof ctShape> } {
  if (ct === undefined) return {};
  const { status, sctCount, operators, logs } = ct;
  const embedded = sctCount > 0;
  return { ct: { enabled: true, embedded, sct_count: sctCount, operators, status, logs } };
}

/** The same, as `ctMembers` shows it. */
export const ctMemberShapes = {
  ct_status: oneOf(["none", ...ctStatuses]),
  sct_count: count,
  ct_logs: optional(many(words())),
};

/**
 * The members of a certificate about logs (CT-5); `ct_logs` are the names of those that gave one.
 */
export function ctMembers({ ct }: CertificateRecord): Output<typeof ctMemberShapes> {
  if (ct === undefined) return { ct_status: "none", sct_count: 0 };
  const accepting = ct.logs.filter(({ ok: accepted }) => accepted).map(({ log }) => log);
  return { ct_status: ct.status, sct_count: ct.sctCount, ct_logs: accepting };
}

const inclusionShape = shape({
  ca_id: words(),
  serial: serialText,
  log_id: words(),
  log_name: words(),
  sct_timestamp: time,
  status: oneOf(inclusionStatuses),
  tree_size: optional(count),
  leaf_index: optional(count),
  checks: count,
  last_error: optional(words()),
  first_checked_at: optional(time),
  last_checked_at: optional(time),
  included_at: optional(time),
  alerted: flag(),
});
const inclusionListShape = shape({
  ...listMembers(inclusionShape),
  counts: shape({ pending: count, included: count, failed: count, unknown_log: count }),
});

function inclusionJson(row: InclusionRecord): ValueOf<typeof inclusionShape> {
  const { firstCheckedAt, lastCheckedAt, includedAt } = row;
  return {
    ca_id: row.caId,
    serial: row.serial,
    log_id: row.logId,
    log_name: row.logName,
    sct_timestamp: timestamp(row.sctTimestamp),
    status: row.status,
    ...(row.treeSize === undefined ? {} : { tree_size: row.treeSize }),
    ...(row.leafIndex === undefined ? {} : { leaf_index: row.leafIndex }),
    checks: row.checks,
    ...(row.lastError === "" ? {} : { last_error: row.lastError }),
    ...(firstCheckedAt === undefined ? {} : { first_checked_at: timestamp(firstCheckedAt) }),
    ...(lastCheckedAt === undefined ? {} : { last_checked_at: timestamp(lastCheckedAt) }),
    ...(includedAt === undefined ? {} : { included_at: timestamp(includedAt) }),
    alerted: row.alerted,
  };
}
