/** What the schedule does for planned replacements: revokes what is replaced, and ends plans. */

import { addSeconds } from "#core/time.ts";
import { assert } from "#core/problems.ts";
import { nextTurn } from "#core/turns.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import type { Origin } from "#domain/actor.ts";
import type { StillMay } from "#domain/access/principal-now.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Revoker } from "#domain/revocation/revoke.ts";
import { systemOrigin } from "#domain/revocation/system-origin.ts";
import { certificateState } from "#domain/revocation/transitions.ts";
import type { Store } from "#domain/store.ts";
import type { RememberedRate } from "./issuance-rate.ts";
import { findLostRight } from "./replacement-planner.ts";
import { factsOf, note } from "./replacements.ts";
import type { ReplacementItem, ReplacementRecord } from "./replacement-store.ts";

export interface ReplacementWorkDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly revoker: Pick<Revoker, "revoke">;
  readonly rate: Pick<RememberedRate, "keep">;
  readonly stillMay: StillMay;
}

/** Works on plans, whichever replica has made them. */
export class ReplacementWork {
  readonly #deps: ReplacementWorkDeps;
  #halted = false;

  constructor(deps: ReplacementWorkDeps) {
    this.#deps = deps;
  }

  /**
   * Revokes what is to be revoked by now, and ends the plans that are through; of several replicas
   * one does. What a crash leaves half done is done by the next run. Keeps the rate that plans to
   * come go by.
   */
  async run(): Promise<void> {
    const { store, rate } = this.#deps;
    await rate.keep();
    if (!(await store.read.replacements.any())) return;
    await store.exclusively("acme-replace", async () => {
      await this.#forgetAbandoned();
      const failures: unknown[] = [];
      for (const plan of await store.read.replacements.running()) {
        if (this.#halted) return;
        // One whose CA cannot be written must not keep the others from their end.
        await this.#work(plan).catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    });
  }

  /** Begins nothing further. */
  halt(): void {
    this.#halted = true;
  }

  /** A plan that never came to run is none. */
  async #forgetAbandoned(): Promise<void> {
    const { store, clock } = this.#deps;
    const before = addSeconds(clock.now(), -planningSeconds);
    for (const { id } of await store.read.replacements.abandoned(before)) {
      await store.atomically((tx) => tx.replacements.endReplacement(id, "canceled"));
    }
  }

  async #work(plan: ReplacementRecord): Promise<void> {
    const { store, clock } = this.#deps;
    const over = clock.now() >= plan.end;
    if (plan.revoke !== undefined) {
      const lost = await this.#revokeDue(plan, plan.revoke, over);
      if (lost !== undefined) return await this.#stop(plan, lost);
    }
    const at = clock.now();
    await store.atomically(async (tx) => {
      const counts = await tx.replacements.counts(plan.id);
      const { total, replaced, revoked } = counts;
      const revokedAll = plan.revoke === undefined || revoked === total;
      const through = revokedAll && (over || replaced === total);
      if (!through || !(await tx.replacements.endReplacement(plan.id, "finished"))) return;
      const detail = factsOf({ ...plan, ...counts });
      await note(tx, "acme.replace.finish", { origin: plannedBy(plan), record: plan, detail, at });
    });
  }

  /** Ends a plan whose planner has lost the right to revoke (ARI-5). */
  async #stop(plan: ReplacementRecord, cause: string): Promise<void> {
    const { store, clock } = this.#deps;
    const at = clock.now();
    await store.atomically(async (tx) => {
      if (!(await tx.replacements.endReplacement(plan.id, "stopped"))) return;
      const counts = await tx.replacements.counts(plan.id);
      const detail = { ...factsOf({ ...plan, ...counts }), cause };
      const event = {
        origin: plannedBy(plan),
        record: plan,
        detail,
        at,
        result: "denied",
      } as const;
      await note(tx, "acme.replace.cancel", event);
    });
  }

  /**
   * Revokes the certificates that are replaced, and with `all` the others too. Returns the reason
   * for which the planner may no longer revoke; that is checked before every slice.
   */
  async #revokeDue(
    plan: ReplacementRecord,
    reason: RevocationReason,
    all: boolean,
  ): Promise<string | undefined> {
    const { store } = this.#deps;
    const issuers = new Map<string, CaRecord>();
    while (!this.#halted && (await this.#isRunning(plan))) {
      const lost = await findLostRight(this.#deps, plan);
      if (lost !== undefined) return lost;
      const due = await store.read.replacements.unrevoked(plan.id, all, sliceMax);
      if (due.length === 0) return undefined;
      for (let at = 0; at < due.length; at += atOnce) {
        // Together, because they share the commit.
        await Promise.all(
          due.slice(at, at + atOnce).map(async (item) => {
            const ca = issuers.get(item.caId) ?? (await store.read.cas.byId(item.caId));
            assert(ca !== undefined, "a CA with certificates stays");
            issuers.set(item.caId, ca);
            await this.#revoke(plan, ca, item, reason);
          }),
        );
        await nextTurn();
      }
    }
    return undefined;
  }

  /** Somebody may have called it off since the last slice. */
  async #isRunning({ id }: ReplacementRecord): Promise<boolean> {
    return (await this.#deps.store.read.replacements.replacement(id))?.state === "running";
  }

  /**
   * An item is replaced in the unit that commits what replaces it, so this never comes first. One
   * that somebody else has revoked, or that has expired, needs no more.
   */
  async #revoke(
    plan: ReplacementRecord,
    ca: CaRecord,
    { caId, serial }: ReplacementItem,
    reason: RevocationReason,
  ): Promise<void> {
    const { store, clock, revoker } = this.#deps;
    const names = [{ caId, serial }];
    const found = await store.read.certificates.bySerial(caId, serial);
    const state = found && certificateState(found, clock.now());
    if (state === "good" || state === "held") {
      const done = await revoker.revoke(
        {
          ca,
          serial,
          origin: plannedBy(plan),
          mayManageCa: false,
          bulkOp: plan.id,
          also: (tx, at) => tx.replacements.noteRevoked(plan.id, names, at),
        },
        reason,
      );
      if (done.status === "revoked") return;
    }
    const at = clock.now();
    await store.atomically((tx) => tx.replacements.noteRevoked(plan.id, names, at));
  }
}

/** The schedule acts, in the name of whoever has planned it. */
function plannedBy({ createdBy }: ReplacementRecord): Origin {
  const system = systemOrigin("acme.replace");
  return { ...system, principal: { ...system.principal, name: createdBy } };
}

/** Far longer than any plan takes to be made. */
const planningSeconds = 3600;
const sliceMax = 500;
const atOnce = 32;
