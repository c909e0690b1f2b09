/** Preflight of the running server, asked for over the admin socket (PRF-1). */

import { checkNames } from "#core/preflight/checks.ts";
import { findingStatuses } from "#core/preflight/finding.ts";
import type { PreflightReport } from "#core/preflight/report.ts";
import { flag, integer, list, many, oneOf, otherwise, shape, words } from "#core/shape.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { thePlatform } from "#domain/access/targets.ts";
import type { PreflightRequest } from "#domain/preflight/run.ts";
import type { OperationName } from "#operations";
import { count, time } from "./shapes.ts";

/** Handler for `preflight.run`. */
export function preflightHandlers(deps: {
  readonly preflight: (request: PreflightRequest) => Promise<PreflightReport>;
}) {
  return {
    "preflight.run": operation({
      summary:
        "Checks the instance, its host and what it depends on, and says what to do about it.",
      target: thePlatform,
      input: {
        deep: otherwise(flag(), false),
        only: otherwise(list(oneOf(checkNames), 0, checkNames.length), []),
        timeout_seconds: otherwise(integer(1, timeoutSecondsMax), 60),
        expiry_warn_days: otherwise(integer(0, 36_500), 30),
        expiry_fail_days: otherwise(integer(0, 36_500), 7),
        audit_sample: otherwise(integer(1, 10_000_000), 1000),
        network: otherwise(flag(), true),
      },
      output: reportShape,
      run: async ({ input }) => {
        const { deep, only, network } = input;
        return await deps.preflight({
          deep,
          only,
          network,
          timeoutSeconds: input.timeout_seconds,
          expiryWarnDays: input.expiry_warn_days,
          expiryFailDays: input.expiry_fail_days,
          auditSample: input.audit_sample,
        });
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const reportShape = shape({
  checked_at: time,
  config_path: words(),
  checks: many(
    shape({
      name: oneOf(checkNames),
      status: oneOf(findingStatuses),
      detail: words(),
      elapsed_ms: count,
      remedy: words(),
    }),
  ),
  summary: shape({ pass: count, warn: count, fail: count, skip: count }),
  ok: flag(),
});

/** The admin socket keeps a connection open for 255 s. */
const timeoutSecondsMax = 240;
