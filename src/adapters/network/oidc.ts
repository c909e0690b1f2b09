/** Speaks with OpenID providers over HTTPS: discovery, keys, and the exchange of codes. */

import { OAuth2Client } from "oslo/oauth2";

import { readKeySet } from "#core/jose/keys.ts";
import { type ProviderError, providerError, providerErrorText } from "#core/jose/provider-error.ts";
import type { ProviderFacts } from "#core/preflight/providers.ts";
import {
  discoveryUrl,
  parseMetadata,
  ProviderFault,
  type ProviderMetadata,
} from "#domain/access/oidc/metadata.ts";
import type { OidcClient, ProviderClient } from "#domain/access/oidc/provider.ts";
import { unlistedScopes, wantedScopes } from "#domain/access/oidc/scopes.ts";
import { askServer, type ExtraTrust, OutboundFault } from "./outbound.ts";

/** Builds the client; `trust` beside the system's certificates, every answer within the time. */
export function providerClient(trust: ExtraTrust, timeoutSeconds = 10): ProviderClient {
  const ask = async (url: string, init: RequestInit) =>
    (await asked(url, init, trust, timeoutSeconds)).answer;
  return {
    discover: async (issuer) => parseMetadata(await ask(discoveryUrl(issuer), json), issuer),
    keys: async ({ keysUrl }) => {
      const keys = readKeySet(await ask(keysUrl, json));
      if (keys === undefined) throw new ProviderFault("the provider's answer is no key set");
      return keys;
    },
    authorizationUrl: async ({ authorizationEndpoint, tokenEndpoint, scopes }, we, secrets) => {
      const { state, codeVerifier, nonce } = secrets;
      const client = new OAuth2Client(we.clientId, authorizationEndpoint, tokenEndpoint, {
        redirectURI: we.redirectUrl,
      });
      const url = await client.createAuthorizationURL({
        state,
        codeVerifier,
        codeChallengeMethod: "S256",
        scopes: [...wantedScopes(we.scopes, scopes)],
      });
      url.searchParams.set("nonce", nonce);
      return url.href;
    },
    exchange: async (metadata, we, { code, codeVerifier }) => {
      const form = new URLSearchParams({
        grant_type: "authorization_code",
        code,
        code_verifier: codeVerifier,
        redirect_uri: we.redirectUrl,
      });
      const answer = await ask(metadata.tokenEndpoint, {
        method: "POST",
        headers: await identified(metadata, we, form),
        body: form,
      });
      const token = isObject(answer) ? answer.id_token : undefined;
      return typeof token === "string" && token !== "" ? token : undefined;
    },
  };
}

/** What a provider shows to somebody who only looks: never throws. `now` is our clock. */
export async function lookAtProvider(
  trust: ExtraTrust,
  issuer: string,
  now: () => number,
  we?: OidcClient,
): Promise<ProviderFacts> {
  try {
    const { answer, date } = await asked(discoveryUrl(issuer), json, trust);
    const aheadSeconds = date === undefined ? undefined : (date - now()) / 1000;
    const metadata = parseMetadata(answer, issuer);
    const keys = await providerClient(trust).keys(metadata);
    const facts = { issuer, keys: keys.length, aheadSeconds };
    if (we === undefined) return facts;
    const unlisted = unlistedScopes(we.scopes, metadata.scopes);
    return { ...facts, unlisted, refusal: await refusalOf(trust, metadata, we) };
  } catch (error) {
    if (error instanceof ProviderFault) return { issuer, fault: error.message };
    throw error;
  }
}

/**
 * Why the provider would send people back without asking them who they are; undefined where it
 * would ask. Nobody is logged in here, which is no refusal (OpenID Connect Core §3.1.2.6). A page
 * of its own says nothing that can be read.
 */
async function refusalOf(
  trust: ExtraTrust,
  metadata: ProviderMetadata,
  we: OidcClient,
): Promise<string | undefined> {
  const secret = () => crypto.getRandomValues(new Uint8Array(32)).toHex();
  const secrets = { state: secret(), nonce: secret(), codeVerifier: secret() };
  const url = new URL(await providerClient(trust).authorizationUrl(metadata, we, secrets));
  url.searchParams.set("prompt", "none");
  try {
    const limits = { timeoutSeconds: 10, bytesMax };
    const { status, location } = await askServer(url.href, {}, limits, trust);
    if (status >= 400) return `it answers ${status} to our client_id and redirect_url`;
    const back = location !== undefined && URL.canParse(location) ? new URL(location) : undefined;
    if (back === undefined || !location?.startsWith(we.redirectUrl)) return undefined;
    const { searchParams: said } = back;
    const error = providerError(said.get("error"), said.get("error_description"));
    return error === undefined || expected.has(error.error) ? undefined : providerErrorText(error);
  } catch (error) {
    if (error instanceof OutboundFault) return error.message;
    throw error;
  }
}

const expected: ReadonlySet<string> = new Set([
  "login_required",
  "interaction_required",
  "consent_required",
  "account_selection_required",
]);

/**
 * Adds who we are to the form, or gives the header that says so (RFC 6749 §2.3.1: both parts are
 * form-encoded).
 */
async function identified(
  { clientAuthentication }: ProviderMetadata,
  we: OidcClient,
  form: URLSearchParams,
): Promise<Record<string, string>> {
  const secret = await we.secret();
  if (secret === undefined || clientAuthentication === "post") {
    form.set("client_id", we.clientId);
    if (secret !== undefined) form.set("client_secret", secret);
    return accepting;
  }
  const pair = `${formEncoded(we.clientId)}:${formEncoded(secret)}`;
  return { ...accepting, authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

/** The JSON of a 200; everything else is a fault, a redirect too. */
async function asked(
  url: string,
  init: RequestInit,
  trust: ExtraTrust,
  timeoutSeconds = 10,
): Promise<{ readonly answer: unknown; readonly date: number | undefined }> {
  try {
    const { status, octets, date } = await askServer(
      url,
      init,
      { timeoutSeconds, bytesMax },
      trust,
    );
    if (status !== 200) throw new ProviderFault(`the provider answered ${status}`, saidIn(octets));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(octets);
    return { answer: JSON.parse(text), date };
  } catch (error) {
    if (error instanceof ProviderFault) throw error;
    if (error instanceof OutboundFault) throw new ProviderFault(error.message);
    // The parser's own words would quote the answer, which may hold tokens.
    throw new ProviderFault("the provider's answer is no JSON");
  }
}

/** RFC 6749 §5.2: the reason a token endpoint gives; undefined where there is none to read. */
function saidIn(octets: Uint8Array): ProviderError | undefined {
  try {
    const answer: unknown = JSON.parse(new TextDecoder().decode(octets));
    return isObject(answer) ? providerError(answer.error, answer.error_description) : undefined;
  } catch {
    return undefined; // A page for people.
  }
}

const formEncoded = (text: string): string => new URLSearchParams({ "": text }).toString().slice(1);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const accepting = { accept: "application/json" };
const json: RequestInit = { headers: accepting };
const bytesMax = 262_144;
