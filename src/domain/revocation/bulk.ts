/**
 * Bulk revocation: a plan, or a run that revokes exactly what was confirmed, batch by batch, and
 * survives a crash (BLK-3, BLK-7).
 */

import { sha256Hex } from "#core/crypto.ts";
import type { CaId } from "#core/ids.ts";
import { isEmpty, type Selection, selectionText } from "#core/policy/selection.ts";
import { assert, Problem, refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import { sortedInTurns } from "#core/turns.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { listLineage } from "#domain/certificates/lineage.ts";
import type { Clock, Random } from "#domain/ports.ts";
import { OperationRuns } from "#domain/operation-runs.ts";
import type { Store } from "#domain/store.ts";
import { type BatchDeps, BulkBatches } from "./bulk-batches.ts";
import { Selecting, type Tally } from "./bulk-selection.ts";
import type { BulkProgress, BulkRun, BulkRunFacts, RunSerial } from "./bulk-store.ts";
import type { CrlPublisher } from "./crl.ts";
import type { PresignReport } from "./presign.ts";
import { systemOrigin } from "./system-origin.ts";

/** What is asked. */
export interface BulkRevocationOrder {
  /** Undefined: a new one. */
  readonly operationId: string | undefined;
  readonly reason: RevocationReason;
  readonly selection: Selection;
  /** Must be true when no predicate is given. */
  readonly all: boolean;
  readonly batchSize: number;
  /** The number that must be found; undefined takes whatever is. */
  readonly confirmed: number | undefined;
}

export interface BulkRevocationPlan extends Tally {
  readonly operationId: string;
  readonly reason: RevocationReason;
  readonly filter: string;
}

export interface BulkRevocationResult extends BulkProgress {
  readonly operationId: string;
  readonly reason: RevocationReason;
  /** Scopes whose CRLs were signed at the end. */
  readonly crlScopes: readonly string[];
  /** OCSP answers signed ahead in place of those the run made untrue. */
  readonly presigned: number;
  /** Why some of them could not be signed; the sweep goes on. */
  readonly presignFailure?: unknown;
  readonly durationSeconds: number;
  /** Why the run stopped midway; a repetition goes on. */
  readonly failure?: unknown;
}

export interface BulkRevocationDeps extends BatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly publisher: Pick<CrlPublisher, "publishStale">;
  /** Signs ahead what a CA lacks; undefined where nothing is signed ahead. */
  readonly presign: ((ca: CaId) => Promise<Pick<PresignReport, "signed" | "failure">>) | undefined;
  /** Told what went wrong without the caller learning why. */
  readonly onFailure: (error: unknown, run: BulkRun) => void;
}

/** Bulk revocations of this process. */
export class BulkRevocation {
  readonly #deps: BulkRevocationDeps;
  readonly #batches: BulkBatches;
  readonly #runs = new OperationRuns();
  #looked = false;

  constructor(deps: BulkRevocationDeps) {
    this.#deps = deps;
    this.#batches = new BulkBatches(deps);
  }

  /** What executing would do; writes nothing. Refuses `empty_selection`, `unknown_serials`. */
  async plan(ca: CaRecord, order: BulkRevocationOrder): Promise<BulkRevocationPlan> {
    const { store, clock, random } = this.#deps;
    refuseEmpty(order);
    const { reason, selection } = order;
    const lineage = await listLineage(store.read.cas, ca);
    const selecting = this.#selecting(lineage, order, clock.now());
    const reads = store.read.bulkRevocations;
    await selecting.named(store.read, async () => {});
    await selecting.stored(reads, 0, await reads.end(), async () => {});
    refuseUnknown(reason, selecting.tally);
    const operationId = order.operationId ?? random.uuid();
    return { ...selecting.tally, operationId, reason, filter: selectionText(selection) };
  }

  /**
   * Revokes what the order selects, or, under an id that was confirmed before, what is left of
   * that. Refuses as `plan` does, `confirm_count_mismatch`, `operation_mismatch` for an id of
   * another request and `operation_running`.
   */
  async execute(
    origin: Origin,
    ca: CaRecord,
    order: BulkRevocationOrder,
  ): Promise<BulkRevocationResult> {
    refuseEmpty(order);
    const facts = await this.#factsOf(origin, ca, order);
    return await this.#runs.run(facts, async () => {
      const run = await this.#begin(ca, order, facts);
      // Everything it was confirmed for is revoked: there is nothing left to find.
      if (run.state === "finished") return resultOf(run, repeated(run), run.startedAt);
      return await this.#carryOn({ ...run, maker: facts.maker }, ca, origin);
    });
  }

  /**
   * Finishes runs that a crash left open, this store's own only at the first call; runs that cannot
   * go on are told.
   */
  async resume(): Promise<void> {
    const { store, onFailure } = this.#deps;
    const open = await store.read.bulkRevocations.abandoned(!this.#looked);
    this.#looked = true;
    for (const run of open) {
      if (this.#runs.has(run) || this.#batches.halted) continue;
      try {
        await this.#runs.run(run, () => this.#resumeOne(run));
      } catch (error) {
        onFailure(error, run);
      }
    }
  }

  /** No further batch begins; what is left is resumed at the next start. */
  halt(): void {
    this.#batches.halt();
  }

  /** The run of this id, confirmed: a new one, one that stopped, or one that finished. */
  async #begin(ca: CaRecord, order: BulkRevocationOrder, facts: BulkRunFacts): Promise<BulkRun> {
    const { store } = this.#deps;
    const { run, mine } = await store.atomically(async (tx) => {
      const claimed = await tx.bulkRevocations.claim(facts);
      if (claimed.run.digest !== facts.digest) {
        throw refuse("operation_mismatch", { operation_id: facts.id });
      }
      return claimed;
    });
    if (run.state === "finished") return run;
    if (!mine) throw refuse("operation_running", { operation_id: facts.id });
    if (run.state !== "selecting") return run;
    try {
      return await this.#select(ca, order, run, facts);
    } catch (error) {
      await this.#forget(run);
      throw error;
    }
  }

  /**
   * Collects the serials in slices, then confirms and starts in one unit that sees what changed
   * meanwhile.
   */
  async #select(
    ca: CaRecord,
    order: BulkRevocationOrder,
    run: BulkRun,
    by: BulkRunFacts,
  ): Promise<BulkRun> {
    const { store, clock } = this.#deps;
    const { id, startedAt } = run;
    const reads = store.read.bulkRevocations;
    const lineage = await listLineage(store.read.cas, ca);
    const lineageIds = lineage.map((one) => one.id);
    const selecting = this.#selecting(lineage, order, startedAt);
    // These two go first: a change after them is seen as one.
    const since = await findLastChange(store.read.revocations, lineageIds);
    const end = await reads.end();
    // Few units, because each of them waits for the disk, and small ones, because others wait for
    // each of them.
    let found: RunSerial[] = [];
    const stage = async () => {
      const serials = found;
      found = [];
      await store.atomically((tx) => tx.bulkRevocations.stage(run, serials));
    };
    const keep = async (serials: readonly RunSerial[]) => {
      found.push(...serials);
      if (found.length >= stagedAtOnce) await stage();
    };
    await selecting.named(store.read, keep);
    await selecting.stored(reads, 0, end, keep);
    refuseUnknown(order.reason, selecting.tally);
    if (found.length > 0) await stage();
    const at = clock.now();
    const { planned, drift } = await store.atomically(async ({ bulkRevocations: runs, audit }) => {
      await selecting.stored(runs, end, await runs.end(), (late) => runs.stage(run, late));
      const unchanged = (await findLastChange(runs, lineageIds)) === since;
      const { total } = selecting.tally;
      const hold = order.reason === "certificateHold";
      const actual = unchanged ? total : await runs.changeable(run, lineageIds, hold);
      if (order.confirmed === undefined || order.confirmed === actual) {
        await runs.start(run, actual);
        return { planned: actual };
      }
      const counts = { confirm_count: order.confirmed, actual_count: actual };
      const detail = { op: id, reason: order.reason, ...counts };
      await audit.appendEvent(summary(by, ca, "denied", detail), at);
      return { planned: actual, drift: counts };
    });
    if (drift !== undefined) throw refuse("confirm_count_mismatch", drift);
    return { ...run, state: "running", planned };
  }

  async #resumeOne(run: BulkRun): Promise<void> {
    const { store } = this.#deps;
    // Nobody was told that it had begun.
    if (run.state === "selecting") return await this.#forget(run);
    const ca = await store.read.cas.byId(run.caId);
    assert(ca !== undefined, "a CA with certificates stays");
    const { mine } = await store.atomically((tx) => tx.bulkRevocations.claim(run));
    if (!mine) return;
    const { failure } = await this.#carryOn(run, ca, systemOrigin("bulk"));
    // Nobody waits for this answer: a refusal is told where faults are.
    if (failure instanceof Problem) this.#deps.onFailure(failure, run);
  }

  async #carryOn(run: BulkRun, ca: CaRecord, by: Origin): Promise<BulkRevocationResult> {
    const { store, clock, onFailure } = this.#deps;
    let progress: BulkProgress = run;
    try {
      progress = await this.#batches.run(run, ca, (done) => {
        progress = done;
      });
      const published = await this.#publish(run, ca, by);
      const at = clock.now();
      const result = { ...resultOf(run, progress, at), ...published };
      await store.atomically(async (tx) => {
        await tx.bulkRevocations.settle(run, "finished");
        await tx.audit.appendEvent(summary(run, ca, "success", detailOf(run, result)), at);
      });
      return result;
    } catch (failure) {
      if (!(failure instanceof Problem)) onFailure(failure, run);
      await this.#stop(run);
      // What was committed stays, and is told.
      const idle = progress.batches === 0 || this.#batches.halted;
      const published = idle ? unpublished : await this.#publish(run, ca, by);
      return { ...resultOf(run, progress, clock.now()), ...published, failure };
    }
  }

  /**
   * Signs base and delta of every changed scope of the lineage once, and the presigned OCSP
   * responses. The schedule signs later what cannot be signed now.
   */
  async #publish(run: BulkRun, ca: CaRecord, by: Origin): Promise<Published> {
    const { store, clock, publisher, presign, onFailure } = this.#deps;
    const crlScopes = new Set<string>();
    let presigned = 0;
    let presignFailure: unknown;
    for (const one of await listLineage(store.read.cas, ca)) {
      // The key of an expired CA signs nothing.
      if (one.id !== ca.id && (one.notAfter ?? 0) < clock.now()) continue;
      try {
        for (const { scope } of await publisher.publishStale(one, by)) crlScopes.add(scope);
      } catch (error) {
        onFailure(error, run);
      }
      if (presign === undefined) continue;
      const { signed, failure } = await presign(one.id);
      presigned += signed;
      presignFailure ??= failure;
    }
    return { crlScopes: [...crlScopes], presigned, presignFailure };
  }

  /** While the process ends the run stays open, for the next start to resume. */
  async #stop(run: BulkRun): Promise<void> {
    if (this.#batches.halted) return;
    try {
      await this.#deps.store.atomically((tx) => tx.bulkRevocations.settle(run, "stopped"));
    } catch (error) {
      // The database is away: the run is found open at the next start.
      this.#deps.onFailure(error, run);
    }
  }

  async #forget(run: BulkRun): Promise<void> {
    try {
      await this.#deps.store.atomically(async (tx) => {
        const { run: stored, mine } = await tx.bulkRevocations.claim(run);
        if (mine && stored.state === "selecting") await tx.bulkRevocations.drop(run);
      });
    } catch (error) {
      this.#deps.onFailure(error, run); // The next start finds it, still without a beginning.
    }
  }

  #selecting(
    lineage: readonly CaRecord[],
    { selection, reason }: BulkRevocationOrder,
    now: Instant,
  ): Selecting {
    const { holdPermitted } = this.#deps;
    const hold = reason === "certificateHold";
    return new Selecting({ lineage, selection, hold, now, holdPermitted });
  }

  async #factsOf(origin: Origin, ca: CaRecord, order: BulkRevocationOrder): Promise<BulkRunFacts> {
    const { clock, random } = this.#deps;
    const { operationId, reason, selection, batchSize } = order;
    const author = authorOf(origin, ca.tenant);
    const digest = await digestOf(ca, order);
    const { grantRoles: _grantRoles, ...maker } = origin.principal;
    return {
      maker,
      lineage: ca.lineage,
      id: operationId ?? random.uuid(),
      caId: ca.id,
      reason,
      batchSize,
      digest,
      filter: selectionText(selection),
      startedAt: clock.now(),
      actor: author.actor,
      actorName: author.actorName ?? "",
      actorRoles: author.actorRoles ?? "",
      ip: origin.ip,
      requestId: origin.requestId,
      approval: author.approval ?? "",
    };
  }
}

/** Returns the sequence number of the last change under any of these CAs. */
async function findLastChange(
  read: { readonly lastChange: (ca: CaId) => Promise<number> },
  cas: readonly CaId[],
): Promise<number> {
  let last = 0;
  for (const ca of cas) last = Math.max(last, await read.lastChange(ca));
  return last;
}

function refuseEmpty({ selection, all }: BulkRevocationOrder): void {
  if (isEmpty(selection) && !all) throw refuse("empty_selection");
}

function refuseUnknown(reason: RevocationReason, { unknownSerials }: Tally): void {
  if (reason !== "certificateHold" || unknownSerials.length === 0) return;
  throw refuse("unknown_serials", { serials: unknownSerials });
}

function summary(
  by: BulkRunFacts,
  ca: CaRecord,
  result: "success" | "denied",
  detail: Readonly<Record<string, string | number | undefined>>,
) {
  const { actor, actorName, actorRoles, ip, requestId } = by;
  return {
    approval: by.approval || undefined,
    action: "cert.revoke_bulk" as const,
    result,
    actor,
    actorName,
    actorRoles,
    ip,
    requestId,
    tenant: ca.tenant,
    caId: ca.id,
    target: ca.id,
    targetName: ca.label,
    detail,
  };
}

function detailOf(run: BulkRun, result: BulkRevocationResult) {
  const { reason, planned, revoked, upgraded, batches, crlScopes, durationSeconds } = result;
  return {
    op: run.id,
    reason,
    filter: run.filter,
    planned,
    revoked,
    upgraded,
    already_skipped: result.skipped,
    batches,
    crl_scopes: crlScopes.join(",") || undefined,
    duration: durationSeconds,
  };
}

function resultOf(
  run: BulkRun,
  { planned, revoked, upgraded, skipped, batches }: BulkProgress,
  at: Instant,
): BulkRevocationResult {
  return {
    operationId: run.id,
    reason: run.reason,
    planned,
    revoked,
    upgraded,
    skipped,
    batches,
    ...unpublished,
    durationSeconds: Math.max(0, at - run.startedAt) / 1000,
  };
}

type Published = Pick<BulkRevocationResult, "crlScopes" | "presigned" | "presignFailure">;

const unpublished: Published = { crlScopes: [], presigned: 0 };

/** What a finished run finds when it is asked for again. */
const repeated = ({ planned }: BulkRun): BulkProgress => ({
  planned: 0,
  revoked: 0,
  upgraded: 0,
  skipped: planned,
  batches: 0,
});

/** The order of serials says nothing, and neither does how they were confirmed. */
async function digestOf(
  ca: CaRecord,
  { reason, selection, all }: BulkRevocationOrder,
): Promise<string> {
  const { profile, pattern, issuedAfter, issuedBefore, spkiSha256, includeExpired } = selection;
  const serials = selection.serials && (await sortedInTurns(selection.serials));
  const asked = {
    ca: ca.id,
    reason,
    profile,
    pattern,
    issuedAfter,
    issuedBefore,
    spkiSha256,
    includeExpired,
    all: isEmpty(selection) && all,
    serials,
  };
  return sha256Hex(new TextEncoder().encode(JSON.stringify(asked)));
}

const stagedAtOnce = 5000;
