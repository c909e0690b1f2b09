/**
 * The identity providers of one instance: the one people log in at, and the one whose tokens API
 * callers bring.
 */

import { mappingsOf } from "#core/access/role-mappings.ts";
import type { IdentityClaims } from "#core/jose/claims.ts";
import { configuredScopes } from "#core/jose/usual-scopes.ts";
import type { BearerCheck } from "#domain/access/authenticate.ts";
import type { Logins } from "#domain/access/logins.ts";
import type { AccessSections, OidcSection } from "#domain/access/sections.ts";
import type { Clock, Log, Random } from "#domain/ports.ts";
import { bearerCheck } from "./bearer.ts";
import { OidcLogin } from "./login.ts";
import { type OidcClient, Provider, type ProviderClient } from "./provider.ts";
import { Transactions } from "./transactions.ts";

export interface ProviderPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly provider: ProviderClient;
  /**
   * Our secret at the provider people log in at, undefined for a public client; throws
   * `ProviderFault` when it cannot be had, for that is what it is to whoever logs in.
   */
  readonly clientSecret: () => Promise<string | undefined>;
}

export interface Providers {
  readonly login: OidcLogin | undefined;
  readonly bearer: BearerCheck | undefined;
}

/** Opens what is configured; nobody is asked anything before somebody comes. */
export function openProviders(
  { auth, oidc }: Pick<AccessSections, "auth" | "oidc">,
  { clock, random, log, provider: client, clientSecret }: ProviderPorts,
  logins: Logins,
): Providers {
  const onFault = (fault: unknown) =>
    log.write("warn", "oidc_provider_fault", { why: fault instanceof Error ? fault.message : "" });
  const provider = (issuer: string) => new Provider({ clock, client, issuer, onFault });
  const we = ourselvesAt(auth.oidc, clientSecret);
  const home = we && provider(we.issuer);
  const names = identityClaims(auth.oidc);
  const transactions = new Transactions({ clock, random });
  const login =
    home && new OidcLogin({ provider: home, client, we, names, logins, log, transactions });
  const { issuer_url, client_id } = oidc;
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
export function ourselvesAt(
  { enabled, issuer_url, client_id, redirect_url, scopes }: OidcSection,
  secret: OidcClient["secret"],
): (OidcClient & { readonly issuer: string }) | undefined {
  // V-8 has made sure that an enabled block has all three.
  if (!enabled || issuer_url === undefined || client_id === undefined) return undefined;
  if (redirect_url === undefined) return undefined;
  return {
    issuer: issuer_url,
    clientId: client_id,
    redirectUrl: redirect_url,
    scopes: configuredScopes(scopes),
    secret,
  };
}

function identityClaims({ enabled, role_mappings, groups_claim }: OidcSection): IdentityClaims {
  const mappings = enabled ? mappingsOf(role_mappings, groups_claim) : [];
  return {
    groupsClaim: groups_claim,
    mapped: [...new Set(mappings.map(({ claim }) => claim))],
  };
}
