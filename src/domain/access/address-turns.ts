/**
 * Lets addresses have their turn at what is dear: whoever fails often waits for himself, and nobody
 * waits for him.
 */

import { addressKey } from "#core/address-key.ts";
import { refuse } from "#core/problems.ts";
import { type BucketLimits, type Filling, TokenBuckets } from "#core/token-bucket.ts";

/** The values of one queue. */
export interface AddressTurnLimits {
  /** Looks at once: each takes a core, or a connection. */
  readonly atOnce: number;
  readonly atOncePerLane: number;
  readonly waitingPerLane: number;
  readonly waitingMax: number;
  /** Looks of one lane that came to nothing: so many at once, and so many a second after that. */
  readonly failures: Filling;
}

export interface AddressTurnsDeps {
  readonly limits: AddressTurnLimits;
  readonly elapsedMs: () => number;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

interface Turn {
  readonly start: () => void;
  readonly refuse: (error: unknown) => void;
}

interface Lane {
  readonly name: string;
  readonly waiting: Turn[];
  active: number;
  /** Has failed too often and waits until it may fail again. */
  paused: boolean;
}

/**
 * One lane per address. Lanes are served in turn, so that a hundred guesses of one address are one
 * guess ahead of another's right password; and a lane that keeps failing is slowed down by itself.
 * Nothing is refused for what others have done.
 */
export class AddressTurns {
  readonly #deps: AddressTurnsDeps;
  readonly #failures = new TokenBuckets();
  /** Those with somebody waiting or being looked at, in the order in which they come next. */
  readonly #lanes = new Map<string, Lane>();
  #active = 0;
  #waiting = 0;

  constructor(deps: AddressTurnsDeps) {
    this.#deps = deps;
  }

  /** Addresses at which somebody waits, is looked at, or is slowed down. */
  get lanes(): number {
    return this.#lanes.size;
  }

  /**
   * Refuses `rate_limited` while as many of this lane wait as may: then nothing is looked at, not
   * even what is right.
   */
  refuseWhenFull(name: string): void {
    const lane = this.#lanes.get(name);
    if ((lane?.waiting.length ?? 0) < this.#deps.limits.waitingPerLane) return;
    throw tooMany();
  }

  /**
   * Looks when it is this lane's turn; `failed` says whether what was seen is a failure of the
   * lane. Refuses `rate_limited` when too many wait: of this lane, or, when there is no room at
   * all, the last of the longest. What `look` throws is thrown, and is no failure.
   */
  async run<T>(name: string, look: () => Promise<T>, failed: (seen: T) => boolean): Promise<T> {
    this.refuseWhenFull(name);
    const lane = this.#laneOf(name);
    await new Promise<void>((start, refused) => {
      lane.waiting.push({ start, refuse: refused });
      this.#waiting += 1;
      this.#makeRoom();
      this.#serve();
    });
    let forgiven = true;
    try {
      const seen = await look();
      forgiven = !failed(seen);
      return seen;
    } finally {
      if (forgiven) this.#failures.giveBack(name, this.#deps.limits.failures);
      this.#active -= 1;
      lane.active -= 1;
      this.#forget(lane);
      this.#serve();
    }
  }

  #laneOf(name: string): Lane {
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const lane = { name, waiting: [], active: 0, paused: false };
    this.#lanes.set(name, lane);
    return lane;
  }

  /** Whoever has most waiting gives way. */
  #makeRoom(): void {
    if (this.#waiting <= this.#deps.limits.waitingMax) return;
    let longest: Lane | undefined;
    for (const lane of this.#lanes.values()) {
      if (lane.waiting.length > (longest?.waiting.length ?? 0)) longest = lane;
    }
    const last = longest?.waiting.pop();
    this.#waiting -= 1;
    last?.refuse(tooMany());
    if (longest !== undefined) this.#forget(longest);
  }

  #serve(): void {
    while (this.#active < this.#deps.limits.atOnce) {
      const lane = this.#next();
      const turn = lane?.waiting.shift();
      if (lane === undefined || turn === undefined) return;
      this.#waiting -= 1;
      this.#active += 1;
      lane.active += 1;
      // To the end of the line.
      this.#lanes.delete(lane.name);
      this.#lanes.set(lane.name, lane);
      turn.start();
    }
  }

  /** The lane with the fewest looks under way; of several the one served longest ago. */
  #next(): Lane | undefined {
    let next: Lane | undefined;
    for (const lane of this.#lanes.values()) {
      if (lane.waiting.length === 0 || lane.paused) continue;
      if (lane.active >= Math.min(next?.active ?? Infinity, this.#deps.limits.atOncePerLane))
        continue;
      next = lane;
    }
    if (next === undefined || this.#mayFail(next)) return next;
    return this.#next();
  }

  /** Counted before the look, so that many at once are many. */
  #mayFail(lane: Lane): boolean {
    const { limits, elapsedMs, sleep } = this.#deps;
    const wait = this.#failures.take(lane.name, limits.failures, elapsedMs(), remembered);
    if (wait === 0) return true;
    lane.paused = true;
    const resume = () => {
      lane.paused = false;
      // Who waited here may have given way meanwhile.
      this.#forget(lane);
      this.#serve();
    };
    sleep(wait * 1000).then(resume, resume);
    return false;
  }

  #forget(lane: Lane): void {
    if (lane.waiting.length > 0 || lane.active > 0 || lane.paused) return;
    this.#lanes.delete(lane.name);
  }
}

/**
 * Whose failures count together: those of an address, apart from those at what is never held up
 * (REV-3).
 */
export const laneOf = ({
  ip,
  exempt,
}: {
  readonly ip: string;
  readonly exempt?: boolean;
}): string => `${exempt === true ? "exempt " : ""}${addressKey(ip)}`;

const tooMany = () => refuse("rate_limited", { tier: "per_ip", retry_after: 2 });

/** How many lanes are known for their failures, and for how long. */
const remembered: BucketLimits = { maxKeys: 100_000, idleMs: 600_000 };
