/** Planner of a replacement that revokes, stored to check its rights again later (ARI-5). */

import type { Principal } from "#core/access/principal.ts";
import { assert, Problem } from "#core/problems.ts";
import type { StillMay } from "#domain/access/principal-now.ts";
import type { Store, Unit } from "#domain/store.ts";
import type { ReplacementRecord } from "./replacement-store.ts";

/** Collaborators of `findLostRight`. */
export interface PlannerDeps {
  readonly store: Pick<Store, "read">;
  readonly stillMay: StillMay;
}

/** Writes the planner in the transaction that adds the plan. */
export async function storePlanner(
  tx: Pick<Unit, "instance">,
  id: string,
  { grantRoles: _grantRoles, ...planner }: Principal,
): Promise<void> {
  await tx.instance.setValue(valueName(id), JSON.stringify(planner));
}

/**
 * Returns the reason for which the planner may no longer revoke, or undefined while it may. Reasons
 * are `forbidden`, `invalid_token`, `tenant_suspended`, and `unknown_planner` in plans of older
 * releases.
 */
export async function findLostRight(
  { store, stillMay }: PlannerDeps,
  { id, caId, tenant }: ReplacementRecord,
): Promise<string | undefined> {
  const stored = await store.read.instance.value(valueName(id));
  if (stored === undefined) return "unknown_planner";
  const ca = await store.read.cas.byId(caId);
  assert(ca !== undefined, "a CA with certificates stays");
  const owner = await store.read.tenants.named(tenant);
  if (owner?.status === "suspended") return "tenant_suspended";
  try {
    // Only `storePlanner` writes the value.
    await stillMay(JSON.parse(stored) as Principal, "ca:manage", ca);
  } catch (error) {
    // Every other error, such as an unreachable directory, is temporary: the next run checks again.
    if (error instanceof Problem && lostRights.has(error.code)) return error.code;
    throw error;
  }
  return undefined;
}

const lostRights: ReadonlySet<string> = new Set(["forbidden", "invalid_token"]);
const valueName = (id: string): string => `acme_replacement_planner:${id}`;
