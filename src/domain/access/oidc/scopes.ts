/**
 * Which scopes are asked for: a provider refuses the whole login for one it does not know (RFC 6749
 * §4.1.2.1).
 */

/**
 * The scopes of a login. `configured` is the operator's own list, asked for as it is, since a
 * provider need not list all it has (Discovery §3); without one the usual scopes, as far as
 * `listed` has them, and groups where it has that.
 */
export function wantedScopes(
  configured: readonly string[] | undefined,
  listed: readonly string[] | undefined,
): readonly string[] {
  if (configured !== undefined) return configured;
  if (listed === undefined) return usual;
  // Without openid the answer would say nothing of who it is, so it is asked for in any case.
  return [...usual, "groups"].filter((scope) => scope === "openid" || listed.includes(scope));
}

/** Those of the operator's own list that the provider does not list; it may refuse them. */
export const unlistedScopes = (
  configured: readonly string[] | undefined,
  listed: readonly string[] | undefined,
): readonly string[] =>
  listed === undefined ? [] : (configured ?? []).filter((scope) => !listed.includes(scope));

const usual: readonly string[] = ["openid", "profile", "email"];
