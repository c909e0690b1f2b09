/**
 * The rate tiers of the public classes: global, per address, per tenant, per account, in this order
 * (RATE-1).
 */

import { addressKey } from "#core/address-key.ts";
import { type BucketLimits, type Filling, TokenBuckets } from "#core/token-bucket.ts";
import { refuse } from "#core/problems.ts";
import type { Operation } from "#operations";

/** `rate_limit`: the values in force; a tier with rate 0 is off. */
export interface RateSection {
  readonly enabled: boolean;
  readonly global: Filling;
  readonly per_ip: Filling;
  readonly per_account: Filling;
  /** How many addresses and accounts each tier remembers, and for how long. */
  readonly max_keys: number;
  readonly idle_ttl_seconds: number;
}

/** Who asks, as far as it is known before anything has been verified. */
export interface Asker {
  /** Client address (API-10). */
  readonly ip: string;
  /** Tenant the request concerns, with the rate its quotas give it. */
  readonly tenant?: { readonly id: string; readonly filling: Filling };
  /** Account key: a protocol's account, or a digest of the credential; never the credential. */
  readonly account?: string;
}

export interface RateLimitDeps {
  /** Asked anew each time, because a reload may change them. */
  readonly settings: () => RateSection;
  readonly elapsedMs: () => number;
}

/** The classes of operations whose requests are counted; all others are exempt (RATE-1). */
export const countedClasses: ReadonlySet<NonNullable<Operation["limit"]>> = new Set([
  "ocsp",
  "crl",
  "chain",
  "login",
  "acme_new_account",
  "acme_new_order",
  "acme_new_authz",
  "acme_renewal_info",
  "acme_finalize",
  "acme_other",
]);

/**
 * Counts the requests that anyone may make. One process counts for itself: replicas do not share
 * their buckets.
 */
export class RateLimits {
  readonly #deps: RateLimitDeps;
  readonly #global = new TokenBuckets();
  readonly #perIp = new TokenBuckets();
  readonly #perTenant = new TokenBuckets();
  readonly #perAccount = new TokenBuckets();

  constructor(deps: RateLimitDeps) {
    this.#deps = deps;
  }

  /** False while nothing is counted, so that the hot path need not work out who asks. */
  get enabled(): boolean {
    return this.#deps.settings().enabled;
  }

  /**
   * Takes a token of every tier, or refuses `rate_limited` and gives the tokens of earlier tiers
   * back.
   */
  admit(asker: Asker): void {
    const settings = this.#deps.settings();
    if (settings.enabled) this.#take(settings, this.#tiers(settings, asker));
  }

  /**
   * The same for what a message says of itself, once it has been read: tenant and account, where
   * the others have been taken before.
   */
  admitMessage(asker: Pick<Asker, "tenant" | "account">): void {
    const settings = this.#deps.settings();
    if (settings.enabled) this.#take(settings, this.#ownTiers(settings, asker));
  }

  #take(settings: RateSection, tiers: readonly Tier[]): void {
    const now = this.#deps.elapsedMs();
    const remembered = bucketLimits(settings);
    const taken: Tier[] = [];
    for (const tier of tiers) {
      if (tier.filling.rate <= 0) continue;
      const wait = tier.buckets.take(tier.key, tier.filling, now, remembered);
      if (wait > 0) {
        for (const earlier of taken) earlier.buckets.giveBack(earlier.key, earlier.filling);
        throw refuse("rate_limited", { tier: tier.name, retry_after: Math.ceil(wait) });
      }
      taken.push(tier);
    }
  }

  /**
   * Takes a token of the address, or refuses `rate_limited` while it has none left: for attempts
   * that count only when they fail. What it gives puts the token back.
   */
  attempt(ip: string): () => void {
    const { enabled, per_ip: perIp, ...settings } = this.#deps.settings();
    if (!enabled || perIp.rate <= 0) return () => {};
    const key = addressKey(ip);
    const wait = this.#perIp.take(key, perIp, this.#deps.elapsedMs(), bucketLimits(settings));
    if (wait > 0) throw refuse("rate_limited", { tier: "per_ip", retry_after: Math.ceil(wait) });
    return () => this.#perIp.giveBack(key, perIp);
  }

  #tiers(settings: RateSection, asker: Asker): readonly Tier[] {
    const { global, per_ip: perIp } = settings;
    return [
      { name: "global", buckets: this.#global, key: "", filling: global },
      { name: "per_ip", buckets: this.#perIp, key: addressKey(asker.ip), filling: perIp },
      ...this.#ownTiers(settings, asker),
    ];
  }

  #ownTiers(
    { per_account: perAccount }: RateSection,
    { tenant, account }: Pick<Asker, "tenant" | "account">,
  ): readonly Tier[] {
    const tiers: Tier[] = [];
    if (tenant !== undefined) {
      const { id: key, filling } = tenant;
      tiers.push({ name: "per_tenant", buckets: this.#perTenant, key, filling });
    }
    if (account !== undefined) {
      const buckets = this.#perAccount;
      tiers.push({ name: "per_account", buckets, key: account, filling: perAccount });
    }
    return tiers;
  }
}

const bucketLimits = (
  section: Pick<RateSection, "max_keys" | "idle_ttl_seconds">,
): BucketLimits => ({ maxKeys: section.max_keys, idleMs: section.idle_ttl_seconds * 1000 });

interface Tier {
  readonly name: "global" | "per_ip" | "per_tenant" | "per_account";
  readonly buckets: TokenBuckets;
  readonly key: string;
  readonly filling: Filling;
}
