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
} from "#test/support/identity-provider.ts";
import { selfSigned } from "#test/support/openssl.ts";

const redirectUrl = "https://pkid.test/auth/callback";
const secrets = { state: "s", nonce: "n", codeVerifier: "v".repeat(43) };
let idp: IdentityProvider;

beforeAll(async () => {
  idp = await startIdentityProvider(redirectUrl, { alice: {} });
});
afterEach(() => idp.tampers.clear());
afterAll(() => idp.stop());

const we = (clientId: string, secret: string | undefined): OidcClient => ({
  ...{ clientId, redirectUrl, scopes: ["openid"], secret: async () => secret },
});
const client = () => providerClient([idp.ca]);

async function redeemed(us: OidcClient): Promise<string | undefined> {
  const metadata = await client().discover(idp.issuer);
  const back = await answerOf(
    ...([idp, await client().authorizationUrl(metadata, us, secrets), "alice"] as const),
  );
  const code = new URL(back).searchParams.get("code") ?? "";
  const { codeVerifier } = secrets;
  return client().exchange(metadata, us, { code, codeVerifier });
}

test("a code is redeemed with a secret in the header, in the form, or with none", async () => {
  expect(await redeemed(we("pkid", clientSecret))).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  expect(await redeemed(we("public", undefined))).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  idp.tampers.set("/.well-known/openid-configuration", (told) => ({
    ...{ ...told, token_endpoint_auth_methods_supported: ["client_secret_post"] },
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
    ...{ hostname: "127.0.0.1", port: 0, tls: { cert, key } },
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
