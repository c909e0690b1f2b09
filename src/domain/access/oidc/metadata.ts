/** What an identity provider says about itself (OpenID Connect Discovery 1.0, RFC 8414). */

import { type ProviderError, providerErrorText } from "#core/jose/provider-error.ts";

/** The part of the discovery document that is used. */
export interface ProviderMetadata {
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly keysUrl: string;
  /** RFC 9207: the provider names itself in every answer, so one that does not is not from it. */
  readonly namesIssuer: boolean;
  /** How the client proves its secret. */
  readonly clientAuthentication: "basic" | "post";
  /** `scopes_supported`; undefined where the provider does not say. */
  readonly scopes: readonly string[] | undefined;
}

/** The provider did not answer, or not with what it should; the message is for the log. */
export class ProviderFault extends Error {
  override readonly name = "ProviderFault";

  /** `said` is what the provider itself gave as its reason. */
  constructor(
    message: string,
    readonly said?: ProviderError,
  ) {
    super(said === undefined ? message : `${message}: ${providerErrorText(said)}`);
  }
}

/** Where a provider describes itself; an issuer that ends with a slash has only one. */
export const discoveryUrl = (issuer: string): string =>
  `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;

/**
 * Reads a discovery document. Throws `ProviderFault` unless it names the very issuer that was asked
 * (Discovery §4.3) and every address is an https URL, so that neither codes nor keys travel in the
 * clear.
 */
export function parseMetadata(document: unknown, issuer: string): ProviderMetadata {
  if (typeof document !== "object" || document === null) {
    throw new ProviderFault("the discovery document is no object");
  }
  // Checked above; members are checked one by one.
  const members = document as Readonly<Record<string, unknown>>;
  if (members.issuer !== issuer) {
    throw new ProviderFault("the discovery document names another issuer");
  }
  return {
    issuer,
    authorizationEndpoint: addressAt(members, "authorization_endpoint"),
    tokenEndpoint: addressAt(members, "token_endpoint"),
    keysUrl: addressAt(members, "jwks_uri"),
    namesIssuer: members.authorization_response_iss_parameter_supported === true,
    clientAuthentication: clientAuthentication(members.token_endpoint_auth_methods_supported),
    scopes: textsOf(members.scopes_supported),
  };
}

function addressAt(members: Readonly<Record<string, unknown>>, name: string): string {
  const value = members[name];
  const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol !== "https:" || url.username !== "" || url.hash !== "") {
    throw new ProviderFault(`${name} of the discovery document is no https address`);
  }
  return url.href;
}

const textsOf = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : undefined;

/** Discovery §3: a provider that does not say takes Basic. */
function clientAuthentication(supported: unknown): "basic" | "post" {
  if (!Array.isArray(supported) || supported.includes("client_secret_basic")) return "basic";
  return supported.includes("client_secret_post") ? "post" : "basic";
}
