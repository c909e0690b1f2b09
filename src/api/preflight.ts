/** Preflight of the running server, asked for over the admin socket (PRF-1). */

import { checkNames } from "#core/preflight/checks.ts";
import type { PreflightReport } from "#core/preflight/report.ts";
import { flag, integer, list, oneOf, otherwise } from "#core/shape.ts";
import { type Handler, handler, ok } from "#domain/access/call.ts";
import type { PreflightRequest } from "#domain/preflight/run.ts";
import type { OperationName } from "#operations";

/** Handler for `preflight.run`. */
export function preflightHandlers(deps: {
  readonly preflight: (request: PreflightRequest) => Promise<PreflightReport>;
}) {
  return {
    "preflight.run": handler({
      summary:
        "Checks the instance, its host and what it depends on, and says what to do about it.",
      body: {
        deep: otherwise(flag(), false),
        only: otherwise(list(oneOf(checkNames), 0, checkNames.length), []),
        timeout_seconds: otherwise(integer(1, timeoutSecondsMax), 60),
        expiry_warn_days: otherwise(integer(0, 36_500), 30),
        expiry_fail_days: otherwise(integer(0, 36_500), 7),
        audit_sample: otherwise(integer(1, 10_000_000), 1000),
        network: otherwise(flag(), true),
      },
      run: async ({ body }) => {
        const { deep, only, network } = body;
        return ok(
          await deps.preflight({
            deep,
            only,
            network,
            timeoutSeconds: body.timeout_seconds,
            expiryWarnDays: body.expiry_warn_days,
            expiryFailDays: body.expiry_fail_days,
            auditSample: body.audit_sample,
          }),
        );
      },
    }),
  } satisfies Partial<Record<OperationName, Handler>>;
}

/** The admin socket keeps a connection open for 255 s. */
const timeoutSecondsMax = 240;
