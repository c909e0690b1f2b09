/**
 * Watches that logs include what they gave SCTs for: heads verified and consistent, every leaf
 * proven in its tree (CT-7, CT-8).
 */

import { addSeconds, type Instant, secondsPerDay } from "#core/time.ts";
import { headVerified } from "#core/transparency/heads.ts";
import { continues, includes, type TreeHead } from "#core/transparency/merkle.ts";
import { consistencySpans, inclusionSpans, type Span, spanHash } from "#core/transparency/tiles.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store, Unit } from "#domain/store.ts";
import {
  type CtLog,
  type Limits,
  type LogClient,
  LogFault,
  type LogRegistry,
} from "#domain/transparency/logs.ts";
import type { InclusionRecord, LogHeadRecord } from "#domain/transparency/store.ts";

export interface InclusionDeps {
  readonly store: Store;
  readonly client: LogClient;
  readonly registry: () => LogRegistry;
  readonly clock: Clock;
  readonly settings: InclusionSection;
}

/** `certificate_transparency.inclusion_monitor`. */
export interface InclusionSection {
  readonly interval_minutes: number;
  /** SCTs checked in one run. */
  readonly max_certs_per_run: number;
  /** For one answer of a log. */
  readonly timeout_seconds: number;
}

/** What one run did. */
export interface InclusionRun {
  readonly checked: number;
  readonly included: number;
  readonly failed: number;
  readonly unknown: number;
}

/** What a log says now, or why nothing can be believed of it. */
type LogState =
  | { readonly answers: true; readonly head: TreeHead }
  | { readonly answers: false; readonly error: string; readonly dishonest: boolean };

/** The verdict on one SCT. */
type Verdict =
  | { readonly status: "included"; readonly treeSize: number; readonly leafIndex: number }
  | { readonly status: "failed" | "pending" | "unknown_log"; readonly error: string };

/** The monitor of one instance. */
export class InclusionMonitor {
  readonly #deps: InclusionDeps;

  constructor(deps: InclusionDeps) {
    this.#deps = deps;
  }

  /** Checks what is due, at most `max`. A log that does not answer leaves its SCTs pending. */
  async run(max = this.#deps.settings.max_certs_per_run): Promise<InclusionRun> {
    const { store, clock, registry } = this.#deps;
    const due = await store.read.transparency.due(clock.now(), max);
    const logs = new Map<string, InclusionRecord[]>();
    for (const row of due) logs.set(row.logId, [...(logs.get(row.logId) ?? []), row]);
    const verdicts: Verdict["status"][] = [];
    for (const [logId, rows] of logs) {
      const log = registry().byId(logId);
      for (const [row, verdict] of await this.#verdicts(log, rows)) {
        await this.#record(row, verdict);
        verdicts.push(verdict.status);
      }
    }
    const count = (status: Verdict["status"]) => verdicts.filter((one) => one === status).length;
    return {
      checked: due.length,
      included: count("included"),
      failed: count("failed"),
      unknown: count("unknown_log"),
    };
  }

  async #verdicts(
    log: CtLog | undefined,
    rows: readonly InclusionRecord[],
  ): Promise<readonly (readonly [InclusionRecord, Verdict])[]> {
    if (log === undefined) {
      const unknown = { status: "unknown_log", error: "the log left the registry" } as const;
      return rows.map((row) => [row, unknown] as const);
    }
    const state = await this.#stateOf(log);
    const judged: (readonly [InclusionRecord, Verdict])[] = [];
    for (const row of rows) judged.push([row, await this.#judge(log, state, row)]);
    return judged;
  }

  /** The newest head we can believe: signed by the log, and consistent with the last one seen. */
  async #stateOf(log: CtLog): Promise<LogState> {
    const { store, client } = this.#deps;
    try {
      const head = await client.head(log, this.#limits());
      if (!headVerified(head, log.key)) return dishonest("the head is not signed by the log");
      const logId = log.key.logId.toHex();
      const seen = await store.read.transparency.head(logId);
      if (seen === undefined) return await this.#believed({ ...head, logId });
      // A mirror may be behind; then what it shows must be the beginning of what we have seen.
      const [earlier, later] = head.treeSize >= seen.treeSize ? [seen, head] : [head, seen];
      const path = await this.#consistency(log, earlier, later);
      if (!continues(earlier, later, path)) return dishonest("two heads are not of one tree");
      return later === seen
        ? { answers: true, head: seen }
        : await this.#believed({ ...head, logId });
    } catch (error) {
      if (!(error instanceof LogFault)) throw error;
      return { answers: false, error: error.message, dishonest: false };
    }
  }

  async #believed({ logId, treeSize, rootHash, timestamp }: LogHeadRecord): Promise<LogState> {
    const { store } = this.#deps;
    await store.atomically((tx) =>
      tx.transparency.setHead({ logId, treeSize, rootHash, timestamp }),
    );
    return { answers: true, head: { treeSize, rootHash } };
  }

  async #consistency(log: CtLog, earlier: TreeHead, later: TreeHead) {
    const [first, second] = [earlier.treeSize, later.treeSize];
    if (first === 0 || first === second) return [];
    if (log.api === "rfc6962") {
      return await this.#deps.client.consistency(log, first, second, this.#limits());
    }
    return await this.#hashes(log, consistencySpans(first, second), second);
  }

  async #judge(log: CtLog, state: LogState, row: InclusionRecord): Promise<Verdict> {
    if (!state.answers) {
      return { status: state.dishonest ? "failed" : "pending", error: state.error };
    }
    const last = addSeconds(row.sctTimestamp, log.mmdSeconds + graceSeconds);
    const overdue = this.#deps.clock.now() > last;
    try {
      return await this.#proven(log, state.head, row);
    } catch (error) {
      if (!(error instanceof LogFault)) throw error;
      return { status: overdue ? "failed" : "pending", error: error.message };
    }
  }

  /** Throws LogFault when the log shows no proof, or one that proves nothing. */
  async #proven(log: CtLog, head: TreeHead, row: InclusionRecord): Promise<Verdict> {
    const hash = Uint8Array.fromHex(row.leafHash);
    const { leafIndex, path } = await this.#proof(log, head, row, hash);
    if (!includes(head, { hash, index: leafIndex }, path)) {
      throw new LogFault("malformed", "the proof does not lead to the head");
    }
    return { status: "included", treeSize: head.treeSize, leafIndex };
  }

  async #proof(log: CtLog, head: TreeHead, row: InclusionRecord, hash: Uint8Array) {
    if (log.api === "rfc6962") {
      return await this.#deps.client.inclusion(log, hash, head.treeSize, this.#limits());
    }
    const leafIndex = row.sctLeafIndex;
    if (leafIndex === undefined) throw new LogFault("malformed", "the SCT names no leaf index");
    if (leafIndex >= head.treeSize) throw new LogFault("unavailable", "the tree ends before it");
    const path = await this.#hashes(log, inclusionSpans(leafIndex, head.treeSize), head.treeSize);
    return { leafIndex, path };
  }

  async #hashes(log: CtLog, spans: readonly Span[], treeSize: number) {
    const hashes: Uint8Array[] = [];
    const limits = this.#limits();
    const read = (tile: Parameters<LogClient["tile"]>[1]) =>
      this.#deps.client.tile(log, tile, limits);
    for (const span of spans) hashes.push(await spanHash(span, treeSize, read));
    return hashes;
  }

  async #record(row: InclusionRecord, verdict: Verdict): Promise<void> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const next = this.#after(row, verdict, now);
    await store.atomically(async (tx) => {
      await tx.transparency.update(next);
      if (next.alerted && !row.alerted) await alert(tx, next, now);
    });
  }

  #after(row: InclusionRecord, verdict: Verdict, now: Instant): InclusionRecord {
    const { interval_minutes } = this.#deps.settings;
    const seen = {
      ...row,
      checks: row.checks + 1,
      lastCheckedAt: now,
      status: verdict.status,
      firstCheckedAt: row.firstCheckedAt ?? now,
    };
    switch (verdict.status) {
      case "included": {
        const { treeSize, leafIndex } = verdict;
        return { ...seen, treeSize, leafIndex, includedAt: now, lastError: "" };
      }
      case "failed":
        return { ...seen, lastError: verdict.error, alerted: true };
      case "pending": {
        const dueAt = addSeconds(now, interval_minutes * 60);
        return { ...seen, lastError: verdict.error, dueAt };
      }
      case "unknown_log":
        // It may come back with the next configuration.
        return { ...seen, lastError: verdict.error, dueAt: addSeconds(now, secondsPerDay) };
    }
  }

  #limits(): Limits {
    const { timeout_seconds: timeoutSeconds } = this.#deps.settings;
    return { timeoutSeconds, signal: new AbortController().signal };
  }
}

/** CT-8: an SCT is broken a day after its maximum merge delay. */
const graceSeconds = secondsPerDay;

const dishonest = (error: string): LogState => ({ answers: false, error, dishonest: true });

async function alert(tx: Unit, row: InclusionRecord, now: Instant): Promise<void> {
  const { caId, tenant, serial, logName, status } = row;
  await tx.audit.appendEvent(
    {
      action: "ct.inclusion",
      result: "error",
      actor: "system:ct",
      actorRoles: "system",
      caId,
      tenant,
      serial,
      target: caId,
      targetName: serial,
      detail: { serial, log: logName, status },
    },
    now,
  );
}
