/** Speaking with a real provider: every way to prove who we are, and answers that are none. */

import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";

import { lookAtProvider, providerClient } from "#adapters/network/oidc.ts";
import { ProviderFault } from "#domain/access/oidc/metadata.ts";
import type { OidcClient } from "#domain/access/oidc/provider.ts";
import {
  answerOf,
  clientSecret,
  type IdentityProvider,
  startIdentityProvider,
} from "#test/support/servers/identity-provider.ts";
import { selfSigned } from "#test/support/encodings/openssl.ts";

const redirectUrl = "https://pkid.test/auth/callback";
const secrets = { state: "s", nonce: "n", codeVerifier: "v".repeat(43) };
let idp: IdentityProvider;

beforeAll(async () => {
  idp = await startIdentityProvider(redirectUrl, { alice: {} });
});
afterEach(() => idp.tampers.clear());
afterAll(() => idp.stop());

const we = (clientId: string, secret: string | undefined): OidcClient => ({
  clientId,
  redirectUrl,
  scopes: ["openid"],
  secret: async () => secret,
});
const client = () => providerClient([idp.ca]);

async function redeemed(us: OidcClient): Promise<string | undefined> {
  const metadata = await client().discover(idp.issuer);
  const back = await answerOf(idp, await client().authorizationUrl(metadata, us, secrets), "alice");
  const code = new URL(back).searchParams.get("code") ?? "";
  const { codeVerifier } = secrets;
  return client().exchange(metadata, us, { code, codeVerifier });
}

test("a code is redeemed with a secret in the header, in the form, or with none", async () => {
  expect(await redeemed(we("pkid", clientSecret))).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  expect(await redeemed(we("public", undefined))).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  idp.tampers.set("/.well-known/openid-configuration", (told) => ({
    ...told,
    token_endpoint_auth_methods_supported: ["client_secret_post"],
  }));
  expect(await redeemed(we("posting", clientSecret))).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
});

test("a wrong secret redeems nothing", async () => {
  await expect(redeemed(we("pkid", "wrong"))).rejects.toThrow(ProviderFault);
  await expect(redeemed(we("public", clientSecret))).rejects.toThrow(ProviderFault);
});

test("an answer that is no JSON, too long, an error or a redirect is a fault", async () => {
  const keys = () =>
    client()
      .discover(idp.issuer)
      .then((found) => client().keys(found));
  expect(await keys()).toHaveLength(1);
  for (const [tamper, message] of [
    [() => ({ keys: "x".repeat(300_000) }), "too long"],
    [() => undefined, "answered 500"],
    ["redirect", "answered 302"],
    [() => ({ keys: {} }), "no key set"],
    [() => [], "no key set"],
  ] as const) {
    idp.tampers.set("/jwks", tamper);
    await expect(keys()).rejects.toThrow(message);
  }
  expect(idp.asked.get("/elsewhere")).toBeUndefined();
});

test("a provider that says nothing is waited for no longer than allowed", async () => {
  const { cert, key } = selfSigned();
  const silent = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert, key },
    fetch: () => new Promise<Response>(() => {}),
  });
  const issuer = `https://127.0.0.1:${silent.port}`;
  const asking = providerClient([cert], 0.2).discover(issuer);
  await expect(asking).rejects.toThrow("did not answer in time");
  await silent.stop(true);
});

test("a provider whose certificate is not trusted is not believed", async () => {
  await expect(providerClient([]).discover(idp.issuer)).rejects.toThrow("cannot be reached");
  const { cert } = selfSigned();
  await expect(providerClient([cert]).discover(idp.issuer)).rejects.toThrow("cannot be reached");
  const looked = await lookAtProvider([], idp.issuer, Date.now);
  expect(looked).toMatchObject({ fault: expect.stringContaining("cannot be reached") });
  expect(await lookAtProvider([idp.ca], idp.issuer, Date.now)).toMatchObject({ keys: 1 });
});

/** A provider of the kind that sends people back for a scope it does not know, as Keycloak does. */
function strict(known: readonly string[]) {
  const { cert, key } = selfSigned();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert, key },
    fetch: (request): Response => {
      const issuer = `https://127.0.0.1:${server.port}`;
      const { pathname, searchParams: asked } = new URL(request.url);
      if (pathname === "/jwks") return Response.json({ keys: [] });
      if (pathname !== "/auth") {
        const at = (path: string) => `${issuer}/${path}`;
        return Response.json({
          issuer,
          jwks_uri: at("jwks"),
          token_endpoint: at("token"),
          authorization_endpoint: at("auth"),
          scopes_supported: known,
        });
      }
      if (asked.get("client_id") !== "pkid") return new Response("who?", { status: 400 });
      const unknown = (asked.get("scope") ?? "").split(" ").filter((one) => !known.includes(one));
      const error = unknown.length > 0 ? "invalid_scope" : "login_required";
      const query = new URLSearchParams({ error, error_description: `Invalid scopes: ${unknown}` });
      return Response.redirect(`${redirectUrl}?${query}`, 302);
    },
  });
  return { issuer: `https://127.0.0.1:${server.port}`, cert, stop: () => server.stop(true) };
}

test("of the usual scopes only those are asked for that the provider lists, and a list of one's own as it is", async () => {
  const provider = strict(["openid", "email", "offline_access"]);
  const metadata = await providerClient([provider.cert]).discover(provider.issuer);
  const scope = async (scopes: OidcClient["scopes"], listed = metadata.scopes) => {
    const us = { ...we("pkid", undefined), scopes };
    const url = await client().authorizationUrl({ ...metadata, scopes: listed }, us, secrets);
    return new URL(url).searchParams.get("scope");
  };
  expect(await scope(undefined)).toBe("openid email");
  expect(await scope(undefined, ["groups", "profile", "openid"])).toBe("openid profile groups");
  expect(await scope(undefined, [])).toBe("openid");
  expect(await scope(["openid", "roles"])).toBe("openid roles");
  const silent = { ...metadata, scopes: undefined };
  const usual = await client().authorizationUrl(
    silent,
    { ...we("pkid", undefined), scopes: undefined },
    secrets,
  );
  expect(new URL(usual).searchParams.get("scope")).toBe("openid profile email");
  await provider.stop();
});

test("who only looks finds out why people would be sent back", async () => {
  const provider = strict(["openid"]);
  const look = (us: OidcClient) => lookAtProvider([provider.cert], provider.issuer, Date.now, us);
  const usual = { ...we("pkid", undefined), scopes: undefined };
  expect(await look(usual)).toMatchObject({ refusal: undefined, unlisted: [] });
  const own = { ...usual, scopes: ["openid", "groups"] };
  expect(await look(own)).toMatchObject({
    refusal: "invalid_scope (Invalid scopes: groups)",
    unlisted: ["groups"],
  });
  expect(await look({ ...usual, clientId: "stranger" })).toMatchObject({
    refusal: "it answers 400 to our client_id and redirect_url",
  });
  await provider.stop();
});

test("what the provider says of a refused code is in the fault", async () => {
  const fault = await redeemed(we("pkid", "wrong")).catch((error: unknown) => error);
  expect(fault).toMatchObject({ said: { error: "invalid_client" } });
  expect(String(fault)).toContain("the provider answered 401: invalid_client");
});
