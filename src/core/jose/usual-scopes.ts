/** What a provider is asked for unless the operator says otherwise. */

/** Asked for as far as the provider knows them; a list of one's own is asked for as it is. */
export const usualScopes: readonly string[] = ["openid", "profile", "email"];

/** Undefined for the default, of which only what the provider lists is asked for. */
export const configuredScopes = (scopes: readonly string[]): readonly string[] | undefined =>
  scopes.length === usualScopes.length && usualScopes.every((one) => scopes.includes(one))
    ? undefined
    : scopes;
