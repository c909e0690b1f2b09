/**
 * How many public requests a tenant's CAs answer per second, known without asking the database for
 * each of them.
 */

import type { CaId, TenantId } from "#core/ids.ts";
import type { Filling } from "#core/token-bucket.ts";
import type { PageKey } from "#domain/page.ts";
import type { Stopwatch } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";

/** A tenant whose quotas limit its requests. */
export interface RatedTenant {
  readonly id: TenantId;
  readonly filling: Filling;
}

export interface TenantRatesDeps {
  readonly store: Pick<Store, "read">;
  readonly stopwatch: Stopwatch;
  /** Told why the rates could not be read; the last ones known stay in force. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * The rates as of a few seconds ago: a changed quota is in force that much later, which costs
 * nobody anything.
 */
export class TenantRates {
  readonly #deps: TenantRatesDeps;
  #byCa: ReadonlyMap<string, RatedTenant> = new Map();
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(deps: TenantRatesDeps) {
    this.#deps = deps;
  }

  /** The tenant of a CA, when its quotas limit requests; undefined for a CA nobody knows. */
  of(ca: string): RatedTenant | undefined {
    const now = this.#deps.stopwatch.elapsedMs();
    if (now - this.#readAt >= freshMs) {
      this.#readAt = now;
      this.refresh().catch(this.#deps.onFailure);
    }
    return this.#byCa.get(ca);
  }

  /** Reads them now. */
  async refresh(): Promise<void> {
    const rated = await this.#rated();
    const byCa = new Map<CaId, RatedTenant>();
    if (rated.size > 0) {
      for (const { id, tenant, internal } of await this.#deps.store.read.cas.signing()) {
        const found = internal ? undefined : rated.get(tenant);
        if (found !== undefined) byCa.set(id, found);
      }
    }
    this.#byCa = byCa;
  }

  async #rated(): Promise<ReadonlyMap<TenantId, RatedTenant>> {
    const { tenants } = this.#deps.store.read;
    const rated = new Map<TenantId, RatedTenant>();
    for (let after: PageKey | undefined; ; ) {
      const page = await tenants.page({ ids: "platform" }, pageRows, after);
      for (const { id, quotas } of page.items) {
        const { rateLimitPerSecond: rate, rateLimitBurst } = quotas;
        // A burst nobody set is what one second brings.
        if (rate > 0)
          rated.set(id, { id, filling: { rate, burst: Math.max(1, rateLimitBurst || rate) } });
      }
      after = page.next;
      if (after === undefined) return rated;
    }
  }
}

const freshMs = 5000;
const pageRows = 500;
