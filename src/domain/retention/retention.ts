/**
 * Lets certificates that expired long ago leave the inventory: first their DER into the archive,
 * then everything but a tombstone (RET-1). Batches of one unit each, with an event that carries the
 * digest of what left (RET-2).
 */

import { createHash } from "#core/crypto.ts";
import type { CaId } from "#core/ids.ts";
import { addSeconds, type Instant, parseTimestamp, secondsPerDay, timestamp } from "#core/time.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { PageKey } from "#domain/page.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { Expired, Left } from "./store.ts";

/** `retention`, and what it has to know of lists. */
export interface RetentionSections {
  readonly retention: {
    readonly enabled: boolean;
    readonly mode: "archive" | "prune";
    readonly min_age_days: number;
    /** 0: never. */
    readonly prune_after_days: number;
    readonly batch_size: number;
    readonly schedule: { readonly interval_hours: number };
  };
  readonly crl: { readonly keep_expired: boolean };
}

export interface RetentionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly config: () => RetentionSections;
}

/** What a run did, or would do. */
export interface RetentionRun {
  readonly at: string;
  readonly dry_run: boolean;
  /** Certificates whose DER went into the archive. */
  readonly archived: number;
  /** Certificates of which a tombstone is left. */
  readonly pruned: number;
  /** Old enough, and kept: on a list that is still good, or of a CA somebody is at work on. */
  readonly held_back: number;
  readonly result: "success" | "error";
}

type Tally = { archived: number; pruned: number; held_back: number };

/** Retention of one instance. */
export class Retention {
  readonly #deps: RetentionDeps;
  #halted = false;

  constructor(deps: RetentionDeps) {
    this.#deps = deps;
  }

  /** The last run that was no dry run; undefined before the first. */
  last(): Promise<RetentionRun | undefined> {
    return lastRetentionOf(this.#deps.store);
  }

  /** No further batch begins. */
  halt(): void {
    this.#halted = true;
  }

  /** A run, when the last one was `retention.schedule.interval_hours` ago or more. */
  async runDue(origin: Origin): Promise<void> {
    const { clock, config } = this.#deps;
    const { interval_hours: hours } = config().retention.schedule;
    const last = parseTimestamp((await this.last())?.at ?? "");
    if (last !== undefined && clock.now() < addSeconds(last, hours * 3600)) return;
    await this.run(origin, false);
  }

  /** What is due now, by one replica at a time; a dry run changes nothing and counts. */
  async run(origin: Origin, dryRun: boolean): Promise<RetentionRun> {
    if (dryRun) return await this.#counted(origin, true);
    return await this.#deps.store.exclusively("retention", () => this.#counted(origin, false));
  }

  async #counted(origin: Origin, dryRun: boolean): Promise<RetentionRun> {
    const { store, clock } = this.#deps;
    const tally: Tally = { archived: 0, pruned: 0, held_back: 0 };
    let failure: unknown;
    try {
      for await (const ca of everyCa(store)) await this.#ofCa(origin, ca, dryRun, tally);
    } catch (error) {
      failure = error;
    }
    const result = failure === undefined ? "success" : "error";
    const done: RetentionRun = { at: timestamp(clock.now()), dry_run: dryRun, ...tally, result };
    if (!dryRun) {
      await store.atomically((tx) => tx.instance.setValue(lastRun, JSON.stringify(done)));
    }
    if (failure !== undefined) throw failure;
    return done;
  }

  async #ofCa(origin: Origin, ca: CaRecord, dryRun: boolean, tally: Tally): Promise<void> {
    const { store, clock, config } = this.#deps;
    const { retention, crl } = config();
    const now = clock.now();
    const before = daysBefore(now, retention.min_age_days);
    const prunable =
      retention.mode === "prune" && retention.prune_after_days > 0
        ? daysBefore(now, retention.prune_after_days)
        : undefined;
    const off = crl.keep_expired ? undefined : await store.read.retention.offListsUntil(ca.id, now);
    const engaged = await store.read.retention.engaged(ca.id);
    const { batch_size: limit } = retention;
    for (let after: Parameters<typeof store.read.retention.expired>[3]; !this.#halted; ) {
      const page = await store.read.retention.expired(ca.id, before, limit, after);
      const due = page.items.filter((one) => dueFor(one, prunable) !== undefined);
      const free = due.filter((one) => !engaged && offLists(one, off));
      tally.held_back += due.length - free.length;
      for (const what of ["archive", "prune"] as const) {
        const these = free.filter((one) => dueFor(one, prunable) === what);
        const count = dryRun ? these.length : await this.#batch(origin, ca, what, these);
        tally[what === "archive" ? "archived" : "pruned"] += count;
      }
      if (page.next === undefined) return;
      after = page.next;
    }
  }

  async #batch(
    origin: Origin,
    ca: CaRecord,
    what: "archive" | "prune",
    due: readonly Expired[],
  ): Promise<number> {
    if (due.length === 0) return 0;
    const { store, clock } = this.#deps;
    const serials = due.map(({ serial }) => serial);
    const now = clock.now();
    return await store.atomically(async ({ retention, audit }) => {
      const left =
        what === "archive"
          ? await retention.archive(ca.id, serials, now)
          : await retention.prune(ca.id, serials);
      if (left.length === 0) return 0;
      const detail = { mode: what, count: left.length, sha256: digestOf(ca.id, left) };
      const its = { tenant: ca.tenant, caId: ca.id, target: ca.id, targetName: ca.label };
      const author = authorOf(origin, ca.tenant);
      const draft = { action: "inventory.retention", result: "success", detail } as const;
      await audit.appendEvent({ ...draft, ...author, ...its }, now);
      return left.length;
    });
  }
}

/** The last run that was no dry run; undefined before the first. */
export async function lastRetentionOf({
  read,
}: Pick<Store, "read">): Promise<RetentionRun | undefined> {
  const text = await read.instance.value(lastRun);
  return text === undefined ? undefined : JSON.parse(text); // Written above, and by nobody else.
}

/** Whatever their status: the certificates of a CA outlive it. */
async function* everyCa({ read }: Pick<Store, "read">): AsyncGenerator<CaRecord> {
  for (let after: PageKey | undefined; ; ) {
    const page = await read.cas.page({ reach: "platform" }, casAtOnce, after);
    yield* page.items;
    if (page.next === undefined) return;
    after = page.next;
  }
}

/** What is to be done with one that is old enough; undefined when that has been done. */
function dueFor(one: Expired, prunable: Instant | undefined): "archive" | "prune" | undefined {
  if (one.der === "gone") return undefined;
  if (prunable !== undefined && one.notAfter < prunable) return "prune";
  return one.der === "row" ? "archive" : undefined;
}

const offLists = ({ status, notAfter }: Expired, off: Instant | undefined): boolean =>
  status === "good" || (off !== undefined && notAfter < off);

/**
 * Lower hex SHA-256 over lines of CA, serial and the SHA-256 of the DER, in the order of the
 * serials as text.
 */
function digestOf(ca: CaId, left: readonly Left[]): string {
  const hash = createHash("sha256");
  const sorted = [...left].sort((a, b) => (a.serial < b.serial ? -1 : 1));
  for (const { serial, sha256 } of sorted) hash.update(`${ca} ${serial} ${sha256}\n`);
  return hash.digest("hex");
}

const daysBefore = (now: Instant, days: number): Instant => addSeconds(now, -days * secondsPerDay);

const lastRun = "retention_last";
const casAtOnce = 100;
