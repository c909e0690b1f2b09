/**
 * Notices when something held the thread that serves requests, and says which operations may have
 * been it.
 */

import type { Log, Stopwatch } from "#domain/ports.ts";

import type { Exchange, Observer, Outcome } from "./exchange.ts";

export interface LoopWatchDeps {
  /** Told of every request as well. */
  readonly next: Observer;
  readonly stopwatch: Stopwatch;
  readonly log: Log;
  /** Counts one time that everybody had to wait. */
  readonly onBlocked: () => void;
  /** Milliseconds of processor time this process has used. */
  readonly cpuMs: () => number;
}

/**
 * Looks at the clock forty times a second while it is started. A look that comes late by more than
 * `holdMs` means that nobody was served meanwhile, which is logged with the requests that moved on
 * in that time. Little processor time beside a long hold means that the machine, and not pkid, was
 * busy, or that a disk was waited for.
 */
export class LoopWatch implements Observer {
  readonly #deps: LoopWatchDeps;
  readonly #open = new Set<Exchange>();
  /** Those that ended since the last look and took long enough to have been it. */
  #ended: Exchange[] = [];
  #timer: Timer | undefined;
  #lookedAt = 0;
  #cpuMs = 0;

  constructor(deps: LoopWatchDeps) {
    this.#deps = deps;
  }

  /** Begins to look; gives what ends it. */
  start(): () => void {
    this.#remember();
    this.#timer = setInterval(() => this.look(), everyMs);
    this.#timer.unref();
    return () => clearInterval(this.#timer);
  }

  began(exchange: Exchange): void {
    this.#open.add(exchange);
    this.#deps.next.began(exchange);
  }

  ended(exchange: Exchange, outcome: Outcome): void {
    this.#open.delete(exchange);
    if (outcome.durationMs > blockedMs) this.#ended.push(exchange);
    this.#deps.next.ended(exchange, outcome);
  }

  /** One look; the timer's business. */
  look(): void {
    const { stopwatch, log, onBlocked, cpuMs } = this.#deps;
    const lateMs = stopwatch.elapsedMs() - this.#lookedAt - everyMs;
    if (lateMs > blockedMs) {
      onBlocked();
      const suspects = this.#suspects(this.#lookedAt).slice(0, namedMax);
      log.write("warn", "event_loop_held", {
        held_ms: Math.round(lateMs),
        cpu_ms: Math.round(cpuMs() - this.#cpuMs),
        operations: suspects.map(({ operation, route }) => operation ?? route),
        request_ids: suspects.map(({ requestId }) => requestId),
      });
    }
    this.#remember();
  }

  /** What was seen to move since then; when nothing was, whatever is under way. */
  #suspects(since: number): readonly Exchange[] {
    const open = [...this.#ended, ...this.#open];
    const moved = open.filter((exchange) => exchange.movedAt >= since - everyMs);
    return moved.length > 0 ? moved : open;
  }

  #remember(): void {
    this.#lookedAt = this.#deps.stopwatch.elapsedMs();
    this.#cpuMs = this.#deps.cpuMs();
    if (this.#ended.length > 0) this.#ended = [];
  }
}

/** No request may hold the thread longer than this. */
export const blockedMs = 50;
const everyMs = 25;
/** Requests one line names. */
const namedMax = 8;
