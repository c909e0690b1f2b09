/**
 * Bulk issue: a plan, or an execution that can be repeated under its id and then makes only what is
 * missing.
 */

import { createHash } from "#core/crypto.ts";
import { Problem, refuse } from "#core/problems.ts";
import { nextTurn, Turns } from "#core/turns.ts";
import type { Origin } from "#domain/actor.ts";
import type { StillMay } from "#domain/access/principal-now.ts";
import { activeMember } from "#domain/authorities/resolve.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock, Random } from "#domain/ports.ts";
import { type OperationKey, OperationRuns } from "#domain/operation-runs.ts";
import type { Store, Unit } from "#domain/store.ts";
import type { BulkItem } from "./bulk-store.ts";
import { aboutCa } from "#domain/authorities/events.ts";
import { type Issuance, storedIssue } from "./issue.ts";
import type { Preview } from "./preview.ts";
import type { CertificateRecord } from "./store.ts";

/** One certificate that is wanted. */
export interface BulkRequest {
  readonly ref: string;
  readonly csr: string;
  readonly profile: string;
  readonly validityDays: number | undefined;
}

/** What is asked as a whole. */
export interface BulkOrder {
  /** Undefined: a new one. */
  readonly operationId: string | undefined;
  readonly items: readonly BulkRequest[];
  /** How many items are worked on at a time. */
  readonly concurrency: number;
}

/** What issuing one item would answer. */
export type PlannedItem =
  | { readonly preview: Preview; readonly refusal?: Problem | undefined }
  | { readonly preview?: undefined; readonly refusal: Problem };

/** What became of one item. */
export type BulkOutcome =
  | { readonly approvalId: string }
  | { readonly record: CertificateRecord; readonly intermediates: readonly Uint8Array[] }
  | { readonly refusal: Problem };

/**
 * What an item that takes two meets: the request that waits for it, or the certificate made under
 * that, which `settle` is told in the unit that hands it over. Undefined for an item that needs
 * nobody.
 */
export type ItemGate = (
  origin: Origin,
  ca: CaRecord,
  request: BulkRequest,
  settle: (tx: Unit, made: Made) => Promise<void>,
) => Promise<{ readonly approvalId: string } | { readonly made: Made } | undefined>;

type Made = Pick<BulkItem, "caId" | "serial">;

export interface BulkResult {
  readonly operationId: string;
  /** The CA that signs for the lineage now. */
  readonly ca: CaRecord;
  /** One for each item, in their order. */
  readonly outcomes: readonly BulkOutcome[];
  readonly durationSeconds: number;
}

export interface BulkDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly issuance: Issuance;
  /** Asked before every item: what lets a run begin can be taken away before it ends. */
  readonly stillMay: StillMay;
}

/** Issues many certificates, each through the one path of every certificate. */
export class BulkIssue {
  readonly #deps: BulkDeps;
  readonly #runs = new OperationRuns();

  constructor(deps: BulkDeps) {
    this.#deps = deps;
  }

  /** What executing would do; writes nothing. Refuses `ca_not_active`. */
  async plan(ca: CaRecord, order: BulkOrder) {
    const active = await activeMember(this.#deps.store.read.cas, ca);
    const items = await eachOf(order.items, order.concurrency, (request) =>
      this.#planned(ca, request),
    );
    return { operationId: order.operationId ?? this.#deps.random.uuid(), ca: active, items };
  }

  /**
   * Issues what has not been issued under this id yet; the last word is one event when anything was
   * tried. Refuses `operation_mismatch` for an id of another request, `operation_running` while it
   * runs here, `ca_not_active`.
   */
  async execute(
    origin: Origin,
    ca: CaRecord,
    order: BulkOrder,
    gate: ItemGate,
  ): Promise<BulkResult> {
    const operationId = order.operationId ?? this.#deps.random.uuid();
    const work = () => this.#execute(origin, ca, order, operationId, gate);
    return await this.#runs.run({ lineage: ca.lineage, id: operationId }, work);
  }

  async #execute(
    origin: Origin,
    ca: CaRecord,
    order: BulkOrder,
    operationId: string,
    gate: ItemGate,
  ) {
    const { store, clock } = this.#deps;
    const begun = clock.now();
    const active = await activeMember(store.read.cas, ca);
    await this.#begin(origin, ca, order, operationId);
    const operation = { lineage: ca.lineage, id: operationId };
    const done = await this.#issuedBefore(operation);
    const run: Run = { origin, ca, operation, done, gate, stop: undefined };
    let position = 0;
    const numbered = order.items.map((request) => ({ request, position: position++ }));
    const outcomes = await eachOf(numbered, order.concurrency, (item) => this.#one(run, item));
    if (done.size < order.items.length) {
      await this.#conclude(origin, active, operationId, outcomes);
    }
    return {
      operationId,
      ca: active,
      outcomes,
      durationSeconds: Math.max(0, clock.now() - begun) / 1000,
    };
  }

  async #planned(ca: CaRecord, request: BulkRequest): Promise<PlannedItem> {
    const { csr, profile, validityDays } = request;
    try {
      const asked = { asked: { csr }, profile, validityDays, mustStaple: undefined };
      const preview = await this.#deps.issuance.preview(ca, asked);
      return { preview, refusal: preview.refusal };
    } catch (error) {
      if (error instanceof Problem) return { refusal: error };
      throw error;
    }
  }

  /** Takes the id, or finds that it stands for exactly this request. */
  async #begin(origin: Origin, ca: CaRecord, order: BulkOrder, id: string): Promise<void> {
    const { store, clock } = this.#deps;
    const digest = await digestOf(order.items);
    const createdAt = clock.now();
    const requestedBy = origin.principal.subject;
    const operation = { id, lineage: ca.lineage, digest, requestedBy, createdAt };
    if (await store.atomically((tx) => tx.bulk.begin(operation))) return;
    const known = await store.read.bulk.operation(operation);
    if (known?.digest !== digest) {
      throw refuse("operation_mismatch", { operation_id: id });
    }
  }

  async #issuedBefore(operation: OperationKey): Promise<ReadonlyMap<number, BulkItem>> {
    const done = new Map<number, BulkItem>();
    for (let after = -1; ; ) {
      const page = await this.#deps.store.read.bulk.issued(operation, pageSize, after);
      for (const item of page) done.set(item.position, item);
      const last = page.at(-1);
      if (last === undefined || page.length < pageSize) return done;
      after = last.position;
    }
  }

  /** One item; what another one met that no item can pass is not tried again. */
  async #one(run: Run, { request, position }: Numbered): Promise<BulkOutcome> {
    const before = run.done.get(position);
    if (before !== undefined) return await this.#found(before);
    if (run.stop !== undefined) return { refusal: run.stop };
    const { csr, profile, validityDays } = request;
    const settle = async (tx: Unit, { caId, serial }: Made) => {
      const first = await tx.bulk.settle(run.operation, { position, caId, serial });
      if (!first) throw refuse("operation_running", { operation_id: run.operation.id });
    };
    try {
      await this.#deps.stillMay(run.origin.principal, "issue", run.ca);
      const parked = await run.gate(run.origin, run.ca, request, settle);
      if (parked !== undefined) {
        return "made" in parked ? await this.#found({ position, ...parked.made }) : parked;
      }
      const { record, intermediates } = await this.#deps.issuance.issue(run.origin, run.ca, {
        csr,
        profile,
        validityDays,
        mustStaple: undefined,
        caller: "interactive",
        // In the certificate's own unit: either both are stored or neither.
        also: settle,
      });
      return { record, intermediates };
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (stopping.has(error.code)) run.stop = error;
      return { refusal: error };
    }
  }

  async #found({ caId, serial }: BulkItem): Promise<BulkOutcome> {
    return await storedIssue(this.#deps.store.read, caId, serial);
  }

  async #conclude(
    origin: Origin,
    ca: CaRecord,
    op: string,
    outcomes: readonly BulkOutcome[],
  ): Promise<void> {
    const issued = outcomes.filter((outcome) => "record" in outcome).length;
    const requested = outcomes.length;
    const pending = outcomes.filter((outcome) => "approvalId" in outcome).length;
    const failed = requested - issued - pending;
    const at = this.#deps.clock.now();
    await this.#deps.store.atomically((tx) =>
      tx.audit.appendEvent(
        {
          action: "cert.issue_bulk",
          ...aboutCa(origin, ca),
          targetName: ca.label,
          result: issued + pending === 0 ? "error" : "success",
          detail: { op, requested, issued, pending, failed },
        },
        at,
      ),
    );
  }
}

interface Numbered {
  readonly request: BulkRequest;
  readonly position: number;
}

interface Run {
  readonly origin: Origin;
  readonly ca: CaRecord;
  readonly operation: OperationKey;
  readonly done: ReadonlyMap<number, BulkItem>;
  readonly gate: ItemGate;
  /** What no item can pass. */
  stop: Problem | undefined;
}

/**
 * Runs `work` on every item, at most `bound` at a time, and gives the results in order; the first
 * fault ends it. Each begins in a turn of its own, because what is refused at once waits for
 * nothing.
 */
async function eachOf<T, R>(
  items: readonly T[],
  bound: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results = new Array<R>(items.length);
  const waiting = items.entries();
  const turns = new Turns();
  const worker = async () => {
    for (const [at, item] of waiting) {
      await turns.next();
      results[at] = await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(bound, items.length) }, worker));
  return results;
}

/**
 * SHA-256 of what is asked as one JSON text, which may be many megabytes and is never put together.
 */
async function digestOf(items: readonly BulkRequest[]): Promise<string> {
  const hash = createHash("sha256");
  for (const [at, { ref, csr, profile, validityDays }] of items.entries()) {
    if (at > 0 && at % digestedPerTurn === 0) await nextTurn();
    const item = JSON.stringify([ref, csr, profile, validityDays ?? null]);
    hash.update(`${at === 0 ? "[" : ","}${item}`);
  }
  return hash.update(items.length === 0 ? "[]" : "]").digest("hex");
}

const stopping: ReadonlySet<string> = new Set([
  "key_unavailable",
  "storage_unavailable",
  "tenant_suspended",
  "ca_not_active",
  "quota_exceeded",
  "operation_running",
  "forbidden",
  "invalid_token",
]);
/** A request has 131,072 characters at most. */
const digestedPerTurn = 50;
const pageSize = 1000;
