/**
 * Token buckets: how many requests one key may make at once, and how fast its right to more grows
 * back.
 */

/**
 * How fast a bucket fills, in tokens per second, and how many it holds. A rate of 0 never fills:
 * callers leave it out.
 */
export interface Filling {
  readonly rate: number;
  readonly burst: number;
}

/** How many buckets are remembered, and for how long one nobody uses is. */
export interface BucketLimits {
  readonly maxKeys: number;
  readonly idleMs: number;
}

interface Bucket {
  tokens: number;
  /** When `tokens` was right, in milliseconds of a clock that only moves forward. */
  at: number;
}

/**
 * The buckets of one tier by key. Memory is bounded: a bucket idle for long enough leaves, and past
 * `maxKeys` the one used longest ago does, which gives its key a full bucket again and nobody else
 * anything.
 */
export class TokenBuckets {
  /** In order of last use, the longest ago first. */
  readonly #buckets = new Map<string, Bucket>();

  /** Buckets remembered now. */
  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Takes one token of `key` at `nowMs`. Gives 0 when there was one, else the seconds (more than 0)
   * until there will be. A bucket never used before is full; one filled under an earlier, larger
   * `burst` is cut to the present one.
   */
  take(key: string, filling: Filling, nowMs: number, limits: BucketLimits): number {
    const bucket = this.#buckets.get(key);
    const tokens = bucket === undefined ? filling.burst : filled(bucket, filling, nowMs);
    const taken = tokens >= 1;
    if (bucket !== undefined) this.#buckets.delete(key);
    else this.#makeRoom(nowMs, limits);
    this.#buckets.set(key, { tokens: taken ? tokens - 1 : tokens, at: nowMs });
    return taken ? 0 : (1 - tokens) / filling.rate;
  }

  /** Gives back a token taken for what did not come to count; never beyond `burst`. */
  giveBack(key: string, filling: Filling): void {
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.tokens = Math.min(filling.burst, bucket.tokens + 1);
  }

  /** Looks at a few of the longest unused, so that no request pays for a sweep. */
  #makeRoom(nowMs: number, limits: BucketLimits): void {
    let looked = 0;
    for (const [key, bucket] of this.#buckets) {
      const idle = nowMs - bucket.at >= limits.idleMs;
      if (!idle && this.#buckets.size < limits.maxKeys) return;
      this.#buckets.delete(key);
      if (++looked >= sweepMax) return;
    }
  }
}

function filled(bucket: Bucket, { rate, burst }: Filling, nowMs: number): number {
  const grown = bucket.tokens + (Math.max(0, nowMs - bucket.at) / 1000) * rate;
  return Math.min(burst, grown);
}

const sweepMax = 4;
