/** Tokens of an identity provider as credentials of API calls. */

import { expiryOf, identityOf, type IdentityClaims } from "#core/jose/claims.ts";
import { refuse } from "#core/problems.ts";
import type { BearerCheck } from "#domain/access/authenticate.ts";
import type { Logins } from "#domain/access/logins.ts";
import type { Provider } from "./provider.ts";

export interface BearerDeps {
  readonly provider: Provider;
  /** Our client id: the audience tokens must name. */
  readonly audience: string;
  readonly names: IdentityClaims;
  /** Who an identity is here, with its roles. */
  readonly principalOf: Logins["principalOf"];
  /**
   * True when the provider is the one people log in with, whose role mappings then count for its
   * tokens too.
   */
  readonly mapped: boolean;
}

/**
 * Builds the check: `invalid_token` for whatever is wrong with a token, `oidc_unavailable` when
 * nobody can say.
 */
export function bearerCheck(deps: BearerDeps): BearerCheck {
  return async (token) => {
    const judged = await deps.provider.judge(token, deps.audience, "bearer");
    if (judged.verdict === "unavailable") throw refuse("oidc_unavailable", { retry_after: 5 });
    if (judged.verdict !== "good") throw refuse("invalid_token");
    const identity = identityOf(judged.claims, deps.names);
    if (identity === undefined) throw refuse("invalid_token");
    const principal = await deps.principalOf(deps.mapped ? "oidc" : undefined, identity, "bearer");
    return { principal, until: expiryOf(judged.claims) };
  };
}
