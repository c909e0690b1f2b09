/** How fast certificates of orders are made, as far as this process or one before it has seen. */

import { addSeconds, type Instant } from "#core/time.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";

/**
 * Two cheap looks at the same thing: what one order after the other would come to, by the usual
 * time that the certificate of one takes, and the most that came in any second. Either is less than
 * what it could do.
 */
export class IssuanceRate {
  /** Milliseconds that the last ones took. */
  readonly #took: number[] = [];
  #next = 0;
  #second = 0;
  #inSecond = 0;
  #most = 0;

  /** Tells of one that was made; both are milliseconds of one clock. */
  made(begunMs: number, endedMs: number): void {
    const took = endedMs - begunMs;
    // Somebody has set the clock.
    if (took < 0 || took > tookMaxMs) return;
    this.#took[this.#next] = Math.max(took, tookMinMs);
    this.#next = (this.#next + 1) % remembered;
    const second = Math.floor(endedMs / 1000);
    this.#inSecond = second === this.#second ? this.#inSecond + 1 : 1;
    this.#second = second;
    this.#most = Math.max(this.#most, this.#inSecond);
  }

  /** Certificates per second; undefined before enough were made to tell. */
  get perSecond(): number | undefined {
    if (this.#took.length < enough) return undefined;
    const sorted = this.#took.toSorted((a, b) => a - b);
    const usual = sorted[Math.floor(sorted.length / 2)] ?? tookMaxMs;
    return Math.max(this.#most, 1000 / (usual * shareOfOrder));
  }
}

export interface RememberedRateDeps {
  readonly store: Pick<Store, "read" | "atomically">;
  readonly clock: Clock;
  readonly rate: Pick<IssuanceRate, "perSecond">;
}

/**
 * The same across restarts. Until it has made some itself, a process believes what was seen last on
 * this database: by another machine or with another key store it may have been more than this one
 * can do, so who plans by it takes a share of it only, and what the keys have no turn for is told
 * to come again.
 */
export class RememberedRate {
  readonly #deps: RememberedRateDeps;
  #keptAt: Instant | undefined;

  constructor(deps: RememberedRateDeps) {
    this.#deps = deps;
  }

  /** Certificates per second; undefined where nobody has ever made enough to tell. */
  async known(): Promise<number | undefined> {
    return this.#deps.rate.perSecond ?? (await this.#remembered());
  }

  /** Keeps what this process has seen, when that is news; every ten minutes at most. */
  async keep(): Promise<void> {
    const { store, clock, rate } = this.#deps;
    const { perSecond } = rate;
    const now = clock.now();
    const kept = this.#keptAt;
    const isKept = kept !== undefined && kept <= now && now < addSeconds(kept, keptSeconds);
    if (perSecond === undefined || isKept) return;
    this.#keptAt = now;
    const known = await this.#remembered();
    if (known !== undefined && Math.abs(perSecond - known) < known * newsShare) return;
    const text = perSecond.toFixed(3);
    await store.atomically((tx) => tx.instance.setValue(valueName, text));
  }

  async #remembered(): Promise<number | undefined> {
    const found = Number(await this.#deps.store.read.instance.value(valueName));
    return found > 0 ? found : undefined;
  }
}

/** A whole order, with its proofs and requests, costs as much as so many certificates. */
const shareOfOrder = 4;
const remembered = 64;
const enough = 8;
const tookMinMs = 1;
const tookMaxMs = 60_000;
const valueName = "acme.issuance_rate";
const keptSeconds = 600;
const newsShare = 0.2;
