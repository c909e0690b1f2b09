/** How many certificates there are by status and by day, of all the CAs a caller may read. */

import type { Reach } from "#core/access/principal.ts";
import type { CaId, TenantId } from "#core/ids.ts";
import { integer, optional, otherwise, shape, text, type ValueOf, words } from "#core/shape.ts";
import { sharedBy } from "#core/shared.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { anyScope } from "#domain/access/targets.ts";
import { casIn, type Scope } from "#domain/expiry/report.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { dateOf, dayOf, everyDay } from "#domain/tenants/days.ts";
import type { OperationName } from "#operations";
import { listMembers, onePage, readableTenant } from "./pages.ts";
import { count } from "./shapes.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Pick<Clock, "now">;
}

/** Handlers for `inventory.certificates` and `inventory.days`. */
export function certificateCountHandlers(deps: Deps) {
  return {
    "inventory.certificates": byStatus(deps),
    "inventory.days": byDay(deps),
  } satisfies Partial<Record<OperationName, Definition>>;
}

function byStatus(deps: Deps) {
  // A count walks the whole inventory, and many consoles may show the same one.
  const counting = sharedBy<Counts>();
  return operation({
    summary: "How many certificates there are by status, under the CAs the caller may read.",
    target: anyScope,
    input: { tenant: optional(text({ max: 64 })) },
    output: countsShape,
    run: async ({ input, reach }) => {
      const tenant = await readableTenant(deps.store, input.tenant, reach);
      return await counting(keyOf(reach, tenant), () =>
        counted(deps, { reach, tenant, ca: undefined }),
      );
    },
  });
}

function byDay(deps: Deps) {
  // Whatever is issued has every console that shows it ask again.
  const counting = sharedBy<Days>();
  return operation({
    summary: "What was issued and revoked on each UTC day, under the CAs the caller may read.",
    target: anyScope,
    input: { days: otherwise(integer(1, 90), 30), tenant: optional(text({ max: 64 })) },
    output: daysShape,
    run: async ({ input: { days, tenant: named }, reach }) => {
      const tenant = await readableTenant(deps.store, named, reach);
      return await counting(`${days} ${keyOf(reach, tenant)}`, () =>
        happened(deps, { reach, tenant, ca: undefined }, days),
      );
    },
  });
}

/** Whose certificates are counted: who may read the same shares one count. */
const keyOf = (reach: Reach, tenant: TenantId | undefined): string =>
  JSON.stringify([reach === "platform" ? reach : [[...reach.tenants], [...reach.cas]], tenant]);

/** How many CAs were looked at. */
const cas = count;
const countsShape = shape({ cas, good: count, held: count, revoked: count, expired: count });
type Counts = ValueOf<typeof countsShape>;

/** Latest first: also the days on which nothing was done. */
const dayShape = shape({ date: words({ format: "date" }), issued: count, revoked: count });
const dayMembers = listMembers(dayShape);
const daysShape = shape({ ...dayMembers, cas });
type Days = ValueOf<typeof daysShape>;

async function counted({ store, clock }: Deps, scope: Scope): Promise<Counts> {
  const theirs = await idsIn(store, scope);
  const counts = await store.read.certificates.statusCounts(theirs, clock.now());
  return { cas: theirs.length, ...counts };
}

async function happened({ store, clock }: Deps, scope: Scope, days: number): Promise<Days> {
  const lastDay = dayOf(clock.now());
  const theirs = await idsIn(store, scope);
  const done = await store.read.certificates.days(theirs, lastDay - days + 1);
  const items = everyDay(done, lastDay, days).map(({ day, issued, revoked }) => ({
    date: dateOf(day),
    issued,
    revoked,
  }));
  return { ...onePage(items), cas: theirs.length };
}

async function idsIn(store: Store, scope: Scope): Promise<readonly CaId[]> {
  const ids: CaId[] = [];
  for await (const { id } of casIn(store, scope)) ids.push(id);
  return ids;
}
