/**
 * An identity provider: where it is, which keys it signs with now, and whether a token is its own.
 */

import { claimsValid } from "#core/jose/claims.ts";
import type { ProviderKey } from "#core/jose/keys.ts";
import { type Jws, parseJws, verifyJws } from "#core/jose/jws.ts";
import type { Clock } from "#domain/ports.ts";
import { Kept } from "#domain/kept.ts";
import type { ProviderMetadata } from "./metadata.ts";

/**
 * How a provider is spoken with. Every call ends in time, follows no redirect, and throws
 * `ProviderFault` on failure.
 */
export interface ProviderClient {
  discover(issuer: string): Promise<ProviderMetadata>;
  keys(metadata: ProviderMetadata): Promise<readonly ProviderKey[]>;
  /** The address that asks a person to log in (RFC 6749 §4.1.1, RFC 7636). */
  authorizationUrl(
    metadata: ProviderMetadata,
    client: OidcClient,
    secrets: LoginSecrets,
  ): Promise<string>;
  /** Redeems a code; the ID token, or undefined when the answer has none. */
  exchange(
    metadata: ProviderMetadata,
    client: OidcClient,
    redeem: Redemption,
  ): Promise<string | undefined>;
}

/** Who we are at the provider. */
export interface OidcClient {
  readonly clientId: string;
  readonly redirectUrl: string;
  /** The operator's own list; undefined asks for what is usual and listed. */
  readonly scopes: readonly string[] | undefined;
  /** Resolved when it is needed; undefined for a public client. */
  readonly secret: () => Promise<string | undefined>;
}

/** What ties a login together, from its beginning to its end. */
export interface LoginSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

export interface Redemption {
  readonly code: string;
  readonly codeVerifier: string;
}

/** What came of verifying a token. `unavailable`: without the provider's keys nobody can say. */
export type JwtJudgement =
  | { readonly verdict: "good"; readonly claims: Jws["claims"] }
  | { readonly verdict: "bad_signature" | "bad_claims" | "unavailable" };

export interface ProviderDeps {
  readonly clock: Clock;
  readonly client: ProviderClient;
  readonly issuer: string;
  /** Told why keys or description could not be had; the log is its only use. */
  readonly onFault: (fault: unknown) => void;
}

/** One provider, its description and keys kept for a while. */
export class Provider {
  readonly #deps: ProviderDeps;
  readonly #metadata: Kept<ProviderMetadata>;
  readonly #keys: Kept<readonly ProviderKey[]>;

  constructor(deps: ProviderDeps) {
    const { clock, client, issuer } = deps;
    this.#deps = deps;
    this.#metadata = new Kept(clock, metadataTimes, () => client.discover(issuer));
    this.#keys = new Kept(clock, keyTimes, async () => client.keys(await this.metadata()));
  }

  /** Its description; throws `ProviderFault` when it cannot be had. */
  metadata(): Promise<ProviderMetadata> {
    return this.#metadata.value();
  }

  /**
   * Whether the provider signed this for `audience`, now. Keys are asked for only when everything
   * else holds, so that nonsense costs the provider nothing.
   */
  async judge(token: string, audience: string, use: "id" | "bearer"): Promise<JwtJudgement> {
    const { issuer, clock } = this.#deps;
    const jws = parseJws(token);
    if (jws === undefined) return { verdict: "bad_signature" };
    const valid = claimsValid(jws, { issuer, audience, now: clock.now(), use });
    if (use === "bearer" && !valid) return { verdict: "bad_claims" };
    const verdict = await this.#verify(jws);
    if (verdict === "bad") return { verdict: "bad_signature" };
    if (verdict === "unavailable") return { verdict };
    return valid ? { verdict: "good", claims: jws.claims } : { verdict: "bad_claims" };
  }

  /** A key nobody knows may be new: the set is asked for again, at most once in its pause. */
  async #verify(jws: Jws): Promise<"good" | "bad" | "unavailable"> {
    const keys = await this.#orUndefined(this.#keys.value());
    if (keys === undefined) return "unavailable";
    const verdict = await verifyJws(jws, keys);
    if (verdict !== "unknown_key") return verdict;
    const newer = await this.#orUndefined(this.#keys.newer());
    if (newer === undefined) return "unavailable";
    return (await verifyJws(jws, newer)) === "good" ? "good" : "bad";
  }

  async #orUndefined<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (fault) {
      this.#deps.onFault(fault);
      return undefined;
    }
  }
}

const metadataTimes = { fresh: 3600, stale: 86_400, pause: 5 };
/**
 * A key the provider withdraws counts for an hour at most, and for five minutes while it answers.
 */
const keyTimes = { fresh: 300, stale: 3600, pause: 10 };
