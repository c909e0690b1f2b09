/** Certificate transparency in JSON: which logs kept which SCT. */

import { integer, oneOf, optional, parsed, text } from "#core/shape.ts";
import { parseSerial } from "#core/ids.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { type Handler, handler, ok } from "#domain/access/call.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Store } from "#domain/store.ts";
import type { InclusionMonitor } from "#domain/inclusion/inclusion.ts";
import type { InclusionFilter, InclusionRecord } from "#domain/transparency/store.ts";
import type { OperationName } from "#operations";
import { pageFields, pageOf, readableCa } from "./pages.ts";

/** Handlers for `ct.*`. */
export function transparencyHandlers(deps: {
  readonly store: Store;
  readonly monitor: Pick<InclusionMonitor, "run">;
}) {
  return {
    "ct.inclusion": inclusionList(deps.store),
    "ct.verify": handler({
      summary: "Check now which promises of transparency logs are kept.",
      body: { max: optional(integer(1, 100_000)) },
      run: async (call) => ok(await deps.monitor.run(call.body.max)),
    }),
  } satisfies Partial<Record<OperationName, Handler>>;
}

function inclusionList(store: Store): Handler {
  return handler({
    summary: "Promises of transparency logs and whether they were kept, newest first.",
    query: {
      status: optional(oneOf(["pending", "included", "failed", "unknown_log"])),
      ca: optional(text({ max: 64 })),
      serial: optional(parsed({ type: "string" }, parseSerial)),
      ...pageFields,
    },
    run: async (call) => {
      const { status, ca, serial } = call.query;
      const filter: InclusionFilter = {
        reach: call.reach,
        status,
        serial,
        caId: ca === undefined ? undefined : await readableCa(store, ca, call.reach),
      };
      const { inclusions, counts } = store.read.transparency;
      const page = await pageOf("ct.inclusion", call, filter, inclusionJson, (limit, after) =>
        inclusions(filter, limit, after),
      );
      return ok({ ...page, counts: await counts(filter) });
    },
  });
}

/**
 * What the logs said of a certificate that was just issued (CT-5); nothing where no log was asked.
 */
export function ctJson({ ct }: CertificateRecord) {
  if (ct === undefined) return {};
  const { status, sctCount, operators, logs } = ct;
  const embedded = sctCount > 0;
  return { ct: { enabled: true, embedded, sct_count: sctCount, operators, status, logs } };
}

/**
 * The members of a certificate about logs (CT-5); `ct_logs` are the names of those that gave one.
 */
export function ctMembers({ ct }: CertificateRecord) {
  if (ct === undefined) return { ct_status: "none", sct_count: 0 };
  const accepting = ct.logs.filter(({ ok: accepted }) => accepted).map(({ log }) => log);
  return { ct_status: ct.status, sct_count: ct.sctCount, ct_logs: accepting };
}

function inclusionJson(row: InclusionRecord) {
  const at = (name: string, value: Instant | undefined) =>
    value === undefined ? {} : { [name]: timestamp(value) };
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
    ...at("first_checked_at", row.firstCheckedAt),
    ...at("last_checked_at", row.lastCheckedAt),
    ...at("included_at", row.includedAt),
    alerted: row.alerted,
  };
}
