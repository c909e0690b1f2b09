/** The way back from the provider: one answer opens a session, and nothing else does. */

import { describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";

import { readKeySet } from "#core/jose/keys.ts";
import { OidcLogin, type Returned } from "#domain/access/oidc/login.ts";
import { parseMetadata, ProviderFault } from "#domain/access/oidc/metadata.ts";
import { type LoginSecrets, Provider, type ProviderClient } from "#domain/access/oidc/provider.ts";
import { Transactions } from "#domain/access/oidc/transactions.ts";
import { accessWorld, refusalOf, visitor } from "#test/support/worlds/access.ts";
import { signedToken } from "#test/support/encodings/jwt.ts";
import { seededRandom } from "#test/support/ports.ts";

const issuer = "https://id.test";
const key = generateKeyPairSync("rsa", { modulusLength: 2048 });
const keys = readKeySet({ keys: [key.publicKey.export({ format: "jwk" })] }) ?? [];
const document = {
  issuer,
  jwks_uri: `${issuer}/jwks`,
  token_endpoint: `${issuer}/token`,
  authorization_endpoint: `${issuer}/auth`,
  authorization_response_iss_parameter_supported: true,
};

/**
 * A provider that redeems the code `good` for a token about alice, of whatever login began last.
 */
function world(
  change: Partial<ProviderClient> = {},
  hear: (message: string, facts: unknown) => void = () => {},
) {
  const access = accessWorld({ rules: { oidc: { mappings: [], allowZeroRole: true } } });
  const { clock, logins } = access;
  let began: LoginSecrets | undefined;
  const client: ProviderClient = {
    discover: async () => parseMetadata(document, issuer),
    keys: async () => keys,
    authorizationUrl: async (metadata, _we, secrets) => {
      began = secrets;
      return `${metadata.authorizationEndpoint}?state=${secrets.state}`;
    },
    exchange: async (_metadata, we, { code }) => {
      if (code !== "good") throw new ProviderFault("invalid_grant");
      const at = Math.floor(clock.now() / 1000);
      const times = { iat: at, exp: at + 60 };
      const claims = { iss: issuer, aud: we.clientId, sub: "alice", nonce: began?.nonce, ...times };
      return signedToken({ alg: "RS256" }, claims, key.privateKey);
    },
    ...change,
  };
  const logged: string[] = [];
  const provider = new Provider({ clock, client, issuer, onFault: () => {} });
  const secret = async () => undefined;
  const login = new OidcLogin({
    provider,
    client,
    logins,
    names: { groupsClaim: "groups", mapped: [] },
    we: { clientId: "pkid", redirectUrl: "https://pkid.test/cb", scopes: ["openid"], secret },
    transactions: new Transactions({ clock, random: seededRandom("transactions") }),
    log: {
      write: (_level, message, facts) => {
        logged.push(message);
        hear(message, facts);
      },
    },
  });
  const begin = async (): Promise<Returned> => {
    const { location, transaction } = await login.begin();
    const state = new URL(location).searchParams.get("state") ?? "";
    return { code: "good", state, error: undefined, description: undefined, issuer, transaction };
  };
  return { ...access, login, begin, logged };
}

describe("an answer", () => {
  test("that is right opens one session, once", async () => {
    const { login, begin, sessions, counted } = world();
    const returned = await begin();
    const { session } = await login.complete(returned, visitor);
    expect(session.principal).toMatchObject({ subject: "alice", mechanism: "session" });
    expect(await refusalOf(login.complete(returned, visitor))).toBe("bad_tx");
    expect(sessions.active).toBe(1);
    expect(counted).toEqual(["oidc success", "oidc denied"]);
  });

  test("with any part replaced by any text opens none, and says so in a code of the closed list", async () => {
    const codes = [
      "idp_error",
      "bad_tx",
      "state_mismatch",
      "no_code",
      "verify_failed",
      "nonce_mismatch",
      "claims_failed",
      "exchange_failed",
      "no_id_token",
    ];
    const text = fc.option(fc.string({ unit: "binary" }), { nil: undefined });
    const part = fc.constantFrom("code", "state", "error", "issuer", "transaction");
    await fc.assert(
      fc.asyncProperty(part, text, async (name, value) => {
        const { login, begin, sessions } = world();
        const returned = await begin();
        fc.pre(returned[name as keyof Returned] !== value);
        const outcome = await refusalOf(login.complete({ ...returned, [name]: value }, visitor));
        expect(codes).toContain(outcome);
        expect(sessions.active).toBe(0);
      }),
    );
  });

  test("after ten minutes comes too late", async () => {
    const { login, begin, clock } = world();
    const returned = await begin();
    clock.advance(600);
    expect(await refusalOf(login.complete(returned, visitor))).toBe("bad_tx");
  });

  test("for a login that began later than another in the same browser is that one's alone", async () => {
    const { login, begin } = world();
    const first = await begin();
    const second = await begin();
    const mixed = { ...first, transaction: second.transaction };
    expect(await refusalOf(login.complete(mixed, visitor))).toBe("state_mismatch");
    expect(await refusalOf(login.complete(first, visitor))).toBe("nonce_mismatch");
    expect((await login.complete(second, visitor)).session.loginName).toBe("alice");
  });
});

describe("a provider", () => {
  test("that is away sends nobody anywhere, and the log says why", async () => {
    const away = async () => {
      throw new ProviderFault("away");
    };
    const { login, logged } = world({ discover: away });
    expect(await refusalOf(login.begin())).toBe("oidc_unavailable");
    expect(logged).toEqual(["oidc_provider_fault"]);
  });

  test("whose keys cannot be had completes no login", async () => {
    const { login, begin, counted } = world({
      keys: async () => {
        throw new ProviderFault("away");
      },
    });
    expect(await refusalOf(login.complete(await begin(), visitor))).toBe("exchange_failed");
    expect(counted).toEqual(["oidc error"]);
  });

  test("that redeems slowly cannot pile up exchanges here", async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const { login, begin } = world({ exchange: () => promise });
    const waiting: Promise<string>[] = [];
    for (let n = 0; n < 64; n++) waiting.push(refusalOf(login.complete(await begin(), visitor)));
    await Bun.sleep(0);
    expect(await refusalOf(login.complete(await begin(), visitor))).toBe("exchange_failed");
    resolve(undefined);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(["no_id_token"]));
  });
});

test("what the provider gives as its reason is in the log and in the event, cut and cleaned, and not in the answer", async () => {
  const told: unknown[] = [];
  const { store, login, begin } = world({}, (message, facts) => told.push([message, facts]));
  const description = `Invalid scopes:\u001b[31m ${"groups ".repeat(100)}`;
  const answer = { ...(await begin()), error: "invalid_scope", description };
  const refusal = await login.complete(answer, visitor).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: "idp_error", facts: {} });
  const event = store.listEvents().at(-1);
  expect(event).toMatchObject({ action: "auth.login_failed", result: "denied" });
  expect(event?.detail).toContain("reason=idp_error error=invalid_scope");
  expect(event?.detail).toContain("Invalid scopes: [31m groups");
  expect(event?.detail.length).toBeLessThan(350);
  expect(told).toMatchObject([
    ["oidc_provider_error", { error: "invalid_scope", description: expect.stringMatching(/^Inv/) }],
  ]);
});

test("a refused code is in the event with the provider's reason", async () => {
  const { store, login, begin } = world({
    exchange: async () => {
      const said = { error: "invalid_client", description: "Invalid client secret" };
      throw new ProviderFault("the provider answered 401", said);
    },
  });
  expect(await refusalOf(login.complete(await begin(), visitor))).toBe("exchange_failed");
  const detail = store.listEvents().at(-1)?.detail;
  expect(detail).toContain('error=invalid_client description="Invalid client secret"');
});

test("an error nobody has begun a login for is in no event with words of its own", async () => {
  const { store, login, begin } = world();
  const stranger = {
    ...(await begin()),
    state: "x".repeat(43),
    error: "spam",
    description: "spam",
  };
  expect(await refusalOf(login.complete(stranger, visitor))).toBe("state_mismatch");
  expect(store.listEvents().at(-1)?.detail).not.toContain("spam");
});
