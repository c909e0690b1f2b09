/**
 * The identity providers of one instance: the one people log in at, and the one whose tokens API
 * callers bring.
 */

import { providerClient } from "#adapters/network/oidc.ts";
import type { SecretSources } from "#adapters/secrets/sources.ts";
import { SecretUnavailable } from "#config/secret.ts";
import type { Config } from "#config/schema.ts";
import { mappingsOf, usualScopes } from "#config/sections/access.ts";
import type { IdentityClaims } from "#core/jose/claims.ts";
import type { BearerCheck } from "#domain/access/authenticate.ts";
import type { Logins } from "#domain/access/logins.ts";
import { bearerCheck } from "#domain/access/oidc/bearer.ts";
import { ProviderFault } from "#domain/access/oidc/metadata.ts";
import { OidcLogin } from "#domain/access/oidc/login.ts";
import { type OidcClient, Provider } from "#domain/access/oidc/provider.ts";
import { Transactions } from "#domain/access/oidc/transactions.ts";
import type { Clock, Log, Random } from "#domain/ports.ts";
import { extraTrust } from "./settings.ts";

export interface ProviderDeps {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly secrets: SecretSources;
}

export interface Providers {
  readonly login: OidcLogin | undefined;
  readonly bearer: BearerCheck | undefined;
}

/** Opens what is configured; nobody is asked anything before somebody comes. */
export function openProviders(deps: ProviderDeps, logins: Logins): Providers {
  const { config, clock, random, log } = deps;
  const client = providerClient(extraTrust(config));
  const onFault = (fault: unknown) =>
    log.write("warn", "oidc_provider_fault", { why: fault instanceof Error ? fault.message : "" });
  const provider = (issuer: string) => new Provider({ clock, client, issuer, onFault });
  const we = weOf(config, deps.secrets);
  const home = we && provider(we.issuer);
  const names = identityClaims(config);
  const login =
    home &&
    new OidcLogin({
      provider: home,
      client,
      we,
      names,
      logins,
      log,
      transactions: new Transactions({ clock, random }),
    });
  const { issuer_url, client_id } = config.oidc;
  if (issuer_url === undefined || client_id === undefined) return { login, bearer: undefined };
  const mapped = we?.issuer === issuer_url;
  const bearer = bearerCheck({
    provider: mapped && home !== undefined ? home : provider(issuer_url),
    audience: client_id,
    names,
    mapped,
    principalOf: (method, identity, mechanism) => logins.principalOf(method, identity, mechanism),
  });
  return { login, bearer };
}

/** Who we are where people log in; undefined while they cannot. */
function weOf(
  { auth: { oidc } }: Config,
  secrets: SecretSources,
): (OidcClient & { readonly issuer: string }) | undefined {
  const { enabled, issuer_url, client_id, redirect_url, scopes } = oidc;
  // V-8 has made sure that an enabled block has all three.
  if (!enabled || issuer_url === undefined || client_id === undefined) return undefined;
  if (redirect_url === undefined) return undefined;
  return {
    issuer: issuer_url,
    clientId: client_id,
    redirectUrl: redirect_url,
    scopes: configuredScopes(scopes),
    secret: () => clientSecret(oidc.client_secret, secrets),
  };
}

/** Undefined for the default, of which only what the provider lists is asked for. */
export const configuredScopes = (scopes: readonly string[]): readonly string[] | undefined =>
  scopes.length === usualScopes.length && usualScopes.every((one) => scopes.includes(one))
    ? undefined
    : scopes;

/**
 * A secret that cannot be had is a fault of the provider's side as far as whoever logs in is
 * concerned.
 */
async function clientSecret(
  setting: Config["auth"]["oidc"]["client_secret"],
  secrets: SecretSources,
): Promise<string | undefined> {
  try {
    return await secrets.recent("auth.oidc.client_secret", setting);
  } catch (error) {
    if (error instanceof SecretUnavailable) throw new ProviderFault(error.message);
    throw error;
  }
}

function identityClaims({ auth: { oidc } }: Config): IdentityClaims {
  const mappings = oidc.enabled ? mappingsOf(oidc.role_mappings, oidc.groups_claim) : [];
  return {
    groupsClaim: oidc.groups_claim,
    mapped: [...new Set(mappings.map(({ claim }) => claim))],
  };
}
