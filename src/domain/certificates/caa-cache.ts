/**
 * Remembers CAA answers no longer than the DNS, the settings and the eight hours of the Baseline
 * Requirements allow (CAA-8).
 */

import type { CaaContent } from "#core/dns/records.ts";
import { addSeconds, type Instant } from "#core/time.ts";
import type { Clock } from "#domain/ports.ts";

/** An answer as it came; undefined when nothing could be looked up, which is never remembered. */
export type CaaAnswer =
  | { readonly records: readonly CaaContent[]; readonly ttlSeconds: number }
  | undefined;

interface Remembered {
  readonly records: readonly CaaContent[];
  readonly since: Instant;
  readonly until: Instant;
}

/** Answers by domain; callers that ask for the same domain at the same time share one query. */
export class CaaCache {
  readonly #clock: Clock;
  readonly #ttlSecondsMax: number;
  readonly #remembered = new Map<string, Remembered>();
  readonly #underWay = new Map<string, Promise<readonly CaaContent[] | "failed">>();

  constructor(clock: Clock, ttlSecondsMax: number) {
    this.#clock = clock;
    this.#ttlSecondsMax = Math.min(ttlSecondsMax, eightHours);
  }

  /** The remembered records, else what `ask` says; its error counts as nothing looked up. */
  async through(
    domain: string,
    ask: () => Promise<CaaAnswer>,
  ): Promise<readonly CaaContent[] | "failed"> {
    const known = this.#remembered.get(domain);
    const now = this.#clock.now();
    // A clock set back must not lengthen a life.
    if (known !== undefined && known.since <= now && now < known.until) return known.records;
    const shared = this.#underWay.get(domain);
    if (shared !== undefined) return await shared;
    const asking = this.#ask(domain, now, ask).finally(() => this.#underWay.delete(domain));
    this.#underWay.set(domain, asking);
    return await asking;
  }

  async #ask(
    domain: string,
    now: Instant,
    ask: () => Promise<CaaAnswer>,
  ): Promise<readonly CaaContent[] | "failed"> {
    this.#remembered.delete(domain);
    const answer = await ask().catch(() => undefined); // A gate that cannot decide has refused.
    if (answer === undefined) return "failed";
    const ttlSeconds = Math.min(answer.ttlSeconds, this.#ttlSecondsMax);
    // Counted from the question on: the answer may have been on its way for long.
    if (ttlSeconds > 0) {
      const until = addSeconds(now, ttlSeconds);
      this.#remembered.set(domain, { records: answer.records, since: now, until });
      this.#forgetOldest();
    }
    return answer.records;
  }

  #forgetOldest(): void {
    if (this.#remembered.size <= entriesMax) return;
    const [oldest] = this.#remembered.keys();
    if (oldest !== undefined) this.#remembered.delete(oldest);
  }
}

const eightHours = 8 * 3600;
const entriesMax = 10_000;
