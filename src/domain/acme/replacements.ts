/**
 * Mass replacement: a plan by which the clients of many certificates are told to come for others,
 * spread over a time, so that nobody is overwhelmed (RFC 9773 §4).
 */

import { leastSeconds, type PlannedTime, windowAt } from "#core/acme/spread.ts";
import type { EventDraft } from "#core/audit/actions.ts";
import type { CaId } from "#core/ids.ts";
import { isEmpty, type Selection, selectionText } from "#core/policy/selection.ts";
import { refuse } from "#core/problems.ts";
import { type Instant, timestamp, wholeSecond } from "#core/time.ts";
import { nextTurn } from "#core/turns.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { listLineage } from "#domain/certificates/lineage.ts";
import type { Clock, Random } from "#domain/ports.ts";
import { meantSlices } from "#domain/revocation/bulk-selection.ts";
import type { BulkRun, Candidate } from "#domain/revocation/bulk-store.ts";
import { certificateState } from "#domain/revocation/transitions.ts";
import type { Store, Unit } from "#domain/store.ts";
import type { RememberedRate } from "./issuance-rate.ts";
import type { OpenPlans } from "./open-plans.ts";
import type { ReplacementCounts, ReplacementItem, ReplacementRecord } from "./replacement-store.ts";
import { storePlanner } from "./replacement-planner.ts";

/** What is asked. */
export interface ReplacementOrder {
  readonly selection: Selection;
  /** Of these, those that this bulk revocation has revoked or held; undefined: good ones. */
  readonly operation: string | undefined;
  /** Must be true where no predicate is given and the certificates are to be revoked. */
  readonly all: boolean;
  /** Undefined: now. */
  readonly start: Instant | undefined;
  readonly end: Instant;
  /** What becomes of the old certificates: revoked once replaced, the rest at the end. */
  readonly revoke: RevocationReason | undefined;
  /** Undefined: half of what this instance has been seen to do. */
  readonly perSecond: number | undefined;
}

/** What a plan finds. */
export interface ReplacementFound {
  /** Certificates it has. */
  readonly total: number;
  /** Of these, those whose clients have come before it was made. */
  readonly replaced: number;
  /** Certificates that are meant, and that nobody comes for: no account has got them. */
  readonly notByAcme: number;
  readonly perSecond: number;
  /** The shortest time they could be replaced in. */
  readonly leastSeconds: number;
}

/** A plan and how far it has come. */
export type ReplacementProgress = ReplacementRecord & ReplacementCounts;

export interface ReplacementDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Pick<Random, "uuid">;
  readonly rate: Pick<RememberedRate, "known">;
  readonly plans: Pick<OpenPlans, "lookAgain">;
}

/** Makes plans, shows them, and calls them off. */
export class Replacements {
  readonly #deps: ReplacementDeps;

  constructor(deps: ReplacementDeps) {
    this.#deps = deps;
  }

  /**
   * What a plan would find among the certificates of the CA and those its lineage had before it, or
   * among those of a bulk revocation; writes nothing. Refuses `empty_selection`, `invalid_field`
   * and `operation_running` for a bulk revocation that is not there or not over, and
   * `replacement_too_fast` where they are too many for the time.
   */
  async look(ca: CaRecord, order: ReplacementOrder): Promise<ReplacementFound> {
    const time = this.#timeOf(order);
    return await this.#fitting(await this.#meant(ca, order), time, order);
  }

  /**
   * Plans it; clients are told from then on. It comes to run as a whole: a crash before leaves
   * nothing that anybody is told of. Refuses as `look` does.
   */
  async plan(
    origin: Origin,
    ca: CaRecord,
    order: ReplacementOrder,
  ): Promise<ReplacementProgress & Pick<ReplacementFound, "notByAcme">> {
    const { store, clock, random, plans } = this.#deps;
    const time = this.#timeOf(order);
    const meant = await this.#meant(ca, order);
    const found = await this.#fitting(meant, time, order);
    const record: ReplacementRecord = {
      ...time,
      id: random.uuid(),
      caId: ca.id,
      tenant: ca.tenant,
      selection: selectionOf(order),
      perSecond: found.perSecond,
      revoke: order.revoke,
      state: "planning",
      createdBy: origin.principal.subject,
      createdAt: clock.now(),
    };
    await store.atomically(async (tx) => {
      await tx.replacements.addReplacement(record);
      if (order.revoke !== undefined) await storePlanner(tx, record.id, origin.principal);
    });
    try {
      // Before anybody is told of it: no order goes past its pace here.
      await plans.lookAgain();
      await this.#stage(record, meant, found.total - found.replaced);
      const counts = await store.read.replacements.counts(record.id);
      const at = clock.now();
      await store.atomically(async (tx) => {
        // Somebody has called it off meanwhile.
        if (!(await tx.replacements.startReplacement(record.id))) return;
        const detail = { ...factsOf({ ...record, ...counts }), not_by_acme: found.notByAcme };
        await note(tx, "acme.replace.plan", { origin, record, detail, at });
      });
    } catch (error) {
      // Whoever failed to write may fail again: then the schedule calls it off.
      await this.#deps.store
        .atomically((tx) => tx.replacements.endReplacement(record.id, "canceled"))
        .catch(() => {});
      throw error;
    }
    return { ...(await this.progress(record)), notByAcme: found.notByAcme };
  }

  /** The plan as it is now, and how far it has come. */
  async progress(record: ReplacementRecord): Promise<ReplacementProgress> {
    const { replacements } = this.#deps.store.read;
    const now = (await replacements.replacement(record.id)) ?? record;
    return { ...now, ...(await replacements.counts(record.id)) };
  }

  /**
   * Calls a plan off: clients are told their usual windows again, and nothing more is revoked for
   * it. False when it was over.
   */
  async cancel(origin: Origin, record: ReplacementRecord): Promise<boolean> {
    const { store, clock } = this.#deps;
    const at = clock.now();
    return await store.atomically(async (tx) => {
      if (!(await tx.replacements.endReplacement(record.id, "canceled"))) return false;
      const detail = factsOf({ ...record, ...(await tx.replacements.counts(record.id)) });
      await note(tx, "acme.replace.cancel", { origin, record, detail, at });
      return true;
    });
  }

  #timeOf({ selection, operation, all, revoke, start, end }: ReplacementOrder): PlannedTime {
    const selectsAll = isEmpty(selection) && operation === undefined;
    if (revoke !== undefined && selectsAll && !all) throw refuse("empty_selection");
    const now = this.#deps.clock.now();
    // ARI tells whole seconds.
    return { start: wholeSecond(start === undefined || start < now ? now : start), end };
  }

  /** Where to look: what is stored later is no part of the plan. */
  async #meant(ca: CaRecord, { selection, operation }: ReplacementOrder): Promise<Meant> {
    const { read } = this.#deps.store;
    const upTo = await read.bulkRevocations.end();
    const lineage = await listLineage(read.cas, ca);
    const all = lineage.map(({ id }) => id);
    if (operation !== undefined) {
      // A bulk revocation covers the whole lineage (ROL-3).
      const run = await this.#revoking(ca, operation);
      return { members: all, selection, upTo, fits: (one, now) => isOf(run, one, now) };
    }
    // Serials are found under any key. Without them the plan covers the CA and its predecessors:
    // its successor signs the certificates that clients come for.
    const named = selection.serials !== undefined;
    return {
      members: named ? all : await this.#listPredecessors(ca),
      selection,
      upTo,
      fits: (one, now) => certificateState(one, now) === "good",
    };
  }

  /** Returns `ca` and the CAs of its lineage that are older. */
  async #listPredecessors(ca: CaRecord): Promise<readonly CaId[]> {
    const lineage = await this.#deps.store.read.cas.lineage(ca.lineage);
    const index = lineage.findIndex(({ id }) => id === ca.id);
    return index === -1 ? [ca.id] : lineage.slice(0, index + 1).map(({ id }) => id);
  }

  async #revoking(ca: CaRecord, id: string): Promise<BulkRun> {
    const run = await this.#deps.store.read.bulkRevocations.run({ lineage: ca.lineage, id });
    if (run === undefined) {
      const reason = "names no bulk revocation of this CA";
      throw refuse("invalid_field", { field: "operation_id", reason });
    }
    if (run.state === "selecting" || run.state === "running") {
      throw refuse("operation_running", { operation_id: id });
    }
    return run;
  }

  async #fitting(meant: Meant, time: PlannedTime, order: ReplacementOrder) {
    const { rate, store } = this.#deps;
    const counts = { total: 0, replaced: 0, notByAcme: 0 };
    for await (const { ca, candidates } of this.#fit(meant, lookedAtOnce)) {
      const obtained = await store.read.replacements.obtained(ca, candidates);
      counts.total += obtained.size;
      counts.notByAcme += candidates.length - obtained.size;
      for (const replaced of obtained.values()) if (replaced) counts.replaced++;
      await nextTurn();
    }
    const perSecond = order.perSecond ?? halfOf(await rate.known());
    const least = leastSeconds(counts.total - counts.replaced, perSecond);
    if (time.end < time.start + least * 1000) {
      throw refuse("replacement_too_fast", { least_seconds: least, per_second: perSecond });
    }
    return { ...counts, perSecond, leastSeconds: least };
  }

  /** Stores the windows of those who have not come yet, `coming` at most. */
  async #stage(record: ReplacementRecord, meant: Meant, coming: number): Promise<void> {
    const { store } = this.#deps;
    let placed = 0;
    for await (const { ca, candidates } of this.#fit(meant, stagedAtOnce)) {
      const told = { record, ca, placed, coming };
      placed = await store.atomically(async (tx) => {
        // Asked in the unit: whoever is replaced after this finds the item.
        const obtained = await tx.replacements.obtained(ca, candidates);
        const { items, next } = itemsOf(told, candidates, obtained);
        await tx.replacements.addItems(items);
        return next;
      });
      await nextTurn();
    }
  }

  /** Those that are to be replaced, so many at a time at most. */
  async *#fit({ members, selection, upTo, fits }: Meant, most: number): AsyncGenerator<Slice> {
    const { store, clock } = this.#deps;
    for (const ca of members) {
      for await (const meant of meantSlices(store.read.bulkRevocations, ca, selection, upTo)) {
        const now = clock.now();
        const candidates = meant.filter((one) => fits(one, now));
        for (let at = 0; at < candidates.length; at += most) {
          yield { ca, candidates: candidates.slice(at, at + most) };
        }
      }
    }
  }
}

interface Meant {
  readonly members: readonly CaId[];
  readonly selection: Selection;
  readonly upTo: number;
  /** By the state it is in. */
  readonly fits: (one: Candidate, now: Instant) => boolean;
}

interface Slice {
  readonly ca: CaId;
  readonly candidates: readonly Candidate[];
}

/**
 * True for what was revoked or held under the run's CA for its reason since it began, and has not
 * expired.
 */
const isOf = ({ reason, startedAt }: BulkRun, one: Candidate, now: Instant): boolean =>
  one.reason === reason &&
  one.revokedAt !== undefined &&
  one.revokedAt >= startedAt &&
  now <= one.notAfter;

/** What was asked for, in one line. */
function selectionOf({ selection, operation }: ReplacementOrder): string {
  if (operation === undefined) return selectionText(selection);
  const own = `operation_id=${operation}`;
  return isEmpty(selection) ? own : `${own} ${selectionText(selection)}`;
}

/** The items of some candidates; `next` is how many windows are taken then. */
function itemsOf(
  {
    record,
    ca,
    placed,
    coming,
  }: {
    readonly record: ReplacementRecord;
    readonly ca: CaId;
    readonly placed: number;
    readonly coming: number;
  },
  candidates: readonly Candidate[],
  obtained: ReadonlyMap<Candidate["serial"], boolean>,
): { readonly items: readonly ReplacementItem[]; readonly next: number } {
  const items: ReplacementItem[] = [];
  let next = placed;
  for (const { serial, status, revokedAt: at } of candidates) {
    const replaced = obtained.get(serial);
    // The rate is for so many: one whose hold was taken off meanwhile is for another plan.
    if (replaced === undefined || (!replaced && next >= coming)) continue;
    const revokedAt = status === "revoked" ? at : undefined;
    const of = { replacement: record.id, caId: ca, serial, revokedAt };
    const { start, end } = replaced ? record : windowAt(next++, coming, record);
    items.push({ ...of, start, end, replacedAt: replaced ? record.createdAt : undefined });
  }
  return { items, next };
}

/** How many certificates of all running plans nobody has come for yet. */
export async function outstandingReplacements({ read }: Pick<Store, "read">): Promise<number> {
  let outstanding = 0;
  for (const { id } of await read.replacements.running()) {
    const { total, replaced } = await read.replacements.counts(id);
    outstanding += total - replaced;
  }
  return outstanding;
}

/** What events say of a plan. */
export const factsOf = ({
  selection,
  start,
  end,
  perSecond,
  revoke,
  total,
  replaced,
  revoked,
}: ReplacementProgress) => ({
  filter: selection,
  from: timestamp(start),
  to: timestamp(end),
  per_second: perSecond,
  reason: revoke,
  planned: total,
  replaced,
  revoked,
});

/** Writes what has become of a plan. */
export async function note(
  tx: Unit,
  action: "acme.replace.plan" | "acme.replace.cancel" | "acme.replace.finish",
  said: {
    readonly origin: Origin;
    readonly record: ReplacementRecord;
    readonly detail: NonNullable<EventDraft["detail"]>;
    readonly at: Instant;
    readonly result?: "success" | "denied";
  },
): Promise<void> {
  const { origin, record, detail, at, result = "success" } = said;
  const { tenant, caId, id } = record;
  const about = { result, tenant, caId, target: id, targetName: caId } as const;
  await tx.audit.appendEvent({ ...authorOf(origin, tenant), ...about, action, detail }, at);
}

/** Half of it is for everybody else; below one per second as it is. */
function halfOf(measured: number | undefined): number {
  const share = (measured ?? unmeasured) / 2;
  return share < 1 ? share : Math.floor(share);
}

/** Certificates per second that any key store makes, as far as nothing has been seen yet. */
const unmeasured = 10;
const lookedAtOnce = 250;
/** Each lies on pages of its own, and a commit of many of these keeps everybody waiting. */
const stagedAtOnce = 50;
