/**
 * Reads secrets of Azure key vaults, as the identity the platform or the environment gives this
 * workload.
 */

import type { AzureSource } from "#config/secret.ts";

import { type Attempt, headerText, memberOf, objectOf, textAt } from "./attempt.ts";
import { SourceFault } from "./unavailable.ts";

/** The variables an identity is found by. */
export const azureVariables = [
  "AZURE_TENANT_ID",
  "AZURE_CLIENT_ID",
  "AZURE_CLIENT_SECRET",
  "AZURE_AUTHORITY_HOST",
  "AZURE_FEDERATED_TOKEN_FILE",
  "IDENTITY_ENDPOINT",
  "IDENTITY_HEADER",
  "AZURE_POD_IDENTITY_AUTHORITY_HOST",
] as const;

/** The secret, or the member of it that is wanted; throws `SourceFault`. */
export async function fromAzure(source: AzureSource, attempt: Attempt): Promise<string> {
  const { vault_url, name, version, field } = source;
  const token = await tokenFor(audienceOf(vault_url), attempt);
  const who = "the vault";
  const answer = await attempt.json({
    who,
    word: (refusal: unknown) => objectOf(objectOf(refusal)?.error)?.code,
    url: `${vault_url}/secrets/${name}/${version ?? ""}?api-version=7.4`,
    headers: { authorization: `Bearer ${headerText(token, "the access token")}` },
  });
  return memberOf(textAt(answer, "value", who), field);
}

/** Whom a token must be for: the vaults of the cloud this one is in. */
function audienceOf(vaultUrl: string): string {
  const domain = /\.(vault\.[a-z.]+)$/.exec(new URL(vaultUrl).hostname)?.[1];
  return `https://${domain ?? "vault.azure.net"}`;
}

/** Client secret, then federated token, then managed identity: the order of Azure's own tools. */
async function tokenFor(audience: string, attempt: Attempt): Promise<string> {
  const secret = attempt.variable("AZURE_CLIENT_SECRET");
  if (secret !== undefined) {
    return await signedIn(audience, attempt, { client_secret: secret });
  }
  const assertion = attempt.mounted("AZURE_FEDERATED_TOKEN_FILE");
  if (assertion !== undefined) {
    return await signedIn(audience, attempt, {
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: assertion,
    });
  }
  return await managedIdentity(audience, attempt);
}

/** RFC 6749 §4.4, with a secret or with an assertion (RFC 7523 §2.2). */
async function signedIn(
  audience: string,
  attempt: Attempt,
  proof: Readonly<Record<string, string>>,
): Promise<string> {
  const tenant = attempt.variable("AZURE_TENANT_ID");
  const client = attempt.variable("AZURE_CLIENT_ID");
  if (tenant === undefined || client === undefined) {
    throw new SourceFault("AZURE_TENANT_ID and AZURE_CLIENT_ID must both be set");
  }
  const host = attempt.variable("AZURE_AUTHORITY_HOST") ?? "https://login.microsoftonline.com";
  const who = "the login of the tenant";
  const answer = await attempt.json({
    who,
    method: "POST",
    word: errorWord,
    url: `${host.replace(/\/+$/, "")}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: client,
      scope: `${audience}/.default`,
      ...proof,
    }).toString(),
  });
  return textAt(answer, "access_token", who);
}

/** The identity of the host: of an app service when it says where, else of the virtual machine. */
async function managedIdentity(audience: string, attempt: Attempt): Promise<string> {
  const endpoint = attempt.variable("IDENTITY_ENDPOINT");
  const who = "the managed identity service";
  const client = attempt.variable("AZURE_CLIENT_ID");
  const asked = { resource: audience, ...(client === undefined ? {} : { client_id: client }) };
  const ask = async (base: string, version: string, headers: Record<string, string>) => {
    if (!URL.canParse(base)) throw new SourceFault(`the address of ${who} is none`);
    const url = new URL(base);
    for (const [key, value] of Object.entries({ "api-version": version, ...asked })) {
      url.searchParams.set(key, value);
    }
    const request = { who, url: url.href, headers, metadata: true, word: errorWord };
    return textAt(await attempt.json(request), "access_token", who);
  };
  if (endpoint === undefined) {
    const host = attempt.variable("AZURE_POD_IDENTITY_AUTHORITY_HOST") ?? "http://169.254.169.254";
    const base = `${host.replace(/\/+$/, "")}/metadata/identity/oauth2/token`;
    return await ask(base, "2018-02-01", { metadata: "true" });
  }
  const header = attempt.variable("IDENTITY_HEADER");
  if (header === undefined)
    throw new SourceFault("IDENTITY_HEADER must be set with IDENTITY_ENDPOINT");
  const proof = { "x-identity-header": headerText(header, "IDENTITY_HEADER") };
  return await ask(endpoint, "2019-08-01", proof);
}

const errorWord = (answer: unknown): unknown => objectOf(answer)?.error;
