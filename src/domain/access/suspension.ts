/** A suspended tenant asks for nothing: whoever acts for one is refused (TEN-2). */

import { refuse } from "#core/problems.ts";

/** As much of a tenant as says whether it may act. */
interface Suspendable {
  readonly status: "active" | "suspended";
}

/** Refuses `tenant_suspended` for a tenant that is not there or not active (TEN-2). */
export function requireActive<T extends Suspendable>(tenant: T | undefined): asserts tenant is T {
  if (tenant?.status !== "active") throw refuse("tenant_suspended");
}
