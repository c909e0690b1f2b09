/** How many certificates there are by status, of all the CAs a caller may read. */

import { optional, shape, text, type ValueOf } from "#core/shape.ts";
import { sharedBy } from "#core/shared.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { anyScope } from "#domain/access/targets.ts";
import { casIn, type Scope } from "#domain/expiry/report.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { readableTenant } from "./pages.ts";
import { count } from "./shapes.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Pick<Clock, "now">;
}

/** Handler for `inventory.certificates`. */
export function certificateCountHandlers(deps: Deps) {
  const { store } = deps;
  // A count walks the whole inventory, and many consoles may show the same one.
  const counting = sharedBy<Counts>();
  return {
    "inventory.certificates": operation({
      summary: "How many certificates there are by status, under the CAs the caller may read.",
      target: anyScope,
      input: { tenant: optional(text({ max: 64 })) },
      output: countsShape,
      run: async ({ input, reach }) => {
        const tenant = await readableTenant(store, input.tenant, reach);
        const key = JSON.stringify([
          reach === "platform" ? reach : [[...reach.tenants], [...reach.cas]],
          tenant,
        ]);
        return await counting(key, () => counted(deps, { reach, tenant, ca: undefined }));
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const statuses = ["good", "held", "revoked", "expired"] as const;
const countsShape = shape({
  /** How many CAs were looked at. */
  cas: count,
  good: count,
  held: count,
  revoked: count,
  expired: count,
});
type Counts = ValueOf<typeof countsShape>;

async function counted({ store, clock }: Deps, scope: Scope): Promise<Counts> {
  const now = clock.now();
  const found = { cas: 0, good: 0, held: 0, revoked: 0, expired: 0 };
  for await (const { id: caId } of casIn(store, scope)) {
    found.cas += 1;
    for (const status of statuses) {
      const { total } = await store.read.certificates.page({ caId, status, now }, 1);
      found[status] += total;
    }
  }
  return found;
}
