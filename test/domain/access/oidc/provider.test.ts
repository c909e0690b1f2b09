/**
 * An identity provider seen through a clock: keys that rotate, that cannot be had, and logins that
 * are over.
 */

import { describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";

import { readKeySet } from "#core/jose/keys.ts";
import { discoveryUrl, parseMetadata, ProviderFault } from "#domain/access/oidc/metadata.ts";
import { Provider, type ProviderClient } from "#domain/access/oidc/provider.ts";
import { Transactions } from "#domain/access/oidc/transactions.ts";
import { signedToken } from "#test/support/encodings/jwt.ts";
import { seededRandom, testClock } from "#test/support/ports.ts";

const issuer = "https://id.test";
const document = {
  issuer,
  jwks_uri: `${issuer}/jwks`,
  token_endpoint: `${issuer}/token`,
  authorization_endpoint: `${issuer}/auth?tenant=a`,
};
const pair = () => generateKeyPairSync("rsa", { modulusLength: 2048 });
const [first, second] = [pair(), pair()];

function world() {
  const clock = testClock();
  const state = { keys: [{ ...first, kid: "1" }], down: false, asked: 0, faults: 0 };
  const client: ProviderClient = {
    discover: async () => parseMetadata(document, issuer),
    keys: async () => {
      state.asked += 1;
      if (state.down) throw new ProviderFault("down");
      const keys = state.keys.map(({ publicKey, kid }) => ({
        ...publicKey.export({ format: "jwk" }),
        kid,
      }));
      return readKeySet({ keys }) ?? [];
    },
    authorizationUrl: async () => "",
    exchange: async () => undefined,
  };
  const onFault = () => {
    state.faults += 1;
  };
  const provider = new Provider({ clock, client, issuer, onFault });
  const token = (kid: string, key = first.privateKey, change: object = {}) => {
    const at = Math.floor(clock.now() / 1000);
    const claims = { iss: issuer, aud: "pkid", exp: at + 60, iat: at, sub: "a", ...change };
    return signedToken({ alg: "RS256", kid }, claims, key);
  };
  const verdict = async (text: string, use: "id" | "bearer" = "bearer") =>
    (await provider.judge(text, "pkid", use)).verdict;
  return { clock, state, provider, token, verdict };
}

describe("keys", () => {
  test("are asked for once, whoever comes, and again when they are old", async () => {
    const { clock, state, token, verdict } = world();
    const many = await Promise.all(Array.from({ length: 20 }, () => verdict(token("1"))));
    expect(new Set(many)).toEqual(new Set(["good"]));
    expect(state.asked).toBe(1);
    clock.advance(301);
    expect(await verdict(token("1"))).toBe("good");
    expect(state.asked).toBe(2);
  });

  test("that are new are found by their name, and strange names cost one question in a while", async () => {
    const { clock, state, token, verdict } = world();
    expect(await verdict(token("1"))).toBe("good");
    state.keys.push({ ...second, kid: "2" });
    clock.advance(10);
    expect(await verdict(token("2", second.privateKey))).toBe("good");
    expect(state.asked).toBe(2);
    for (let n = 0; n < 50; n++) expect(await verdict(token(`x${n}`))).toBe("bad_signature");
    expect(state.asked).toBe(2);
  });

  test("that were withdrawn count no longer than the provider is trusted to say so", async () => {
    const { clock, state, token, verdict } = world();
    expect(await verdict(token("1"))).toBe("good");
    state.keys = [{ ...second, kid: "2" }];
    clock.advance(301);
    expect(await verdict(token("1"))).toBe("bad_signature");
  });

  test("are kept for an hour while the provider is away, and then nobody can say", async () => {
    const { clock, state, token, verdict } = world();
    expect(await verdict(token("1"))).toBe("good");
    state.down = true;
    clock.advance(3599);
    expect(await verdict(token("1"))).toBe("good");
    clock.advance(1);
    expect(await verdict(token("1"))).toBe("unavailable");
    expect(state.faults).toBe(1);
  });

  test("with a name nobody knows cannot be judged while the provider is away", async () => {
    const { clock, state, token, verdict } = world();
    expect(await verdict(token("1"))).toBe("good");
    state.down = true;
    clock.advance(10);
    for (let n = 0; n < 5; n++) {
      expect(await verdict(token("2", second.privateKey))).toBe("unavailable");
    }
    expect(await verdict(token("1"))).toBe("good");
    expect(state.asked).toBe(2);
  });

  test("never had mean that nobody can say, and the provider is left alone for a while", async () => {
    const { clock, state, token, verdict } = world();
    state.down = true;
    for (let n = 0; n < 20; n++) expect(await verdict(token("1"))).toBe("unavailable");
    expect(state.asked).toBe(1);
    state.down = false;
    clock.advance(10);
    expect(await verdict(token("1"))).toBe("good");
  });

  test("are not asked for to refuse what is refused anyway", async () => {
    const { state, token, verdict } = world();
    for (const [text, wanted] of [
      ["x.y.z", "bad_signature"],
      [token("1", first.privateKey, { aud: "other" }), "bad_claims"],
      [token("1", first.privateKey, { iss: "https://evil.test" }), "bad_claims"],
      [token("1", first.privateKey, { exp: 1 }), "bad_claims"],
    ] as const) {
      expect(await verdict(text)).toBe(wanted);
    }
    expect(state.asked).toBe(0);
  });
});

describe("the discovery document", () => {
  test("stands where the issuer is, and names it", () => {
    expect(discoveryUrl("https://id.test/realms/a")).toBe(
      "https://id.test/realms/a/.well-known/openid-configuration",
    );
    expect(discoveryUrl("https://id.test/")).toBe(
      "https://id.test/.well-known/openid-configuration",
    );
    expect(parseMetadata(document, issuer)).toMatchObject({ issuer, namesIssuer: false });
  });

  test("of another issuer, or with an address in the clear, is none", () => {
    for (const change of [
      { issuer: `${issuer}/` },
      { issuer: undefined },
      { jwks_uri: "http://id.test/jwks" },
      { token_endpoint: "file:///etc/passwd" },
      { authorization_endpoint: "javascript:alert(1)" },
      { token_endpoint: undefined },
      { jwks_uri: "https://user@id.test/jwks" },
    ]) {
      expect(() => parseMetadata({ ...document, ...change }, issuer)).toThrow(ProviderFault);
    }
    for (const nonsense of [null, 1, "x", []]) {
      expect(() => parseMetadata(nonsense, issuer)).toThrow(ProviderFault);
    }
  });

  test("says how a secret is proved, Basic where it says nothing", () => {
    const method = (methods: unknown) =>
      parseMetadata({ ...document, token_endpoint_auth_methods_supported: methods }, issuer)
        .clientAuthentication;
    expect(method(undefined)).toBe("basic");
    expect(method(["client_secret_post", "client_secret_basic"])).toBe("basic");
    expect(method(["client_secret_post"])).toBe("post");
  });
});

describe("a transaction", () => {
  const clock = testClock();
  const transactions = new Transactions({ clock, random: seededRandom() });

  test("is read back until it is used, and for ten minutes", () => {
    const { secrets, text } = transactions.begin();
    expect(transactions.read(text)).toEqual(secrets);
    transactions.use(text);
    expect(transactions.read(text)).toBeUndefined();
    const other = transactions.begin().text;
    clock.advance(599);
    expect(transactions.read(other)).toBeDefined();
    clock.advance(1);
    expect(transactions.read(other)).toBeUndefined();
  });

  test("with any octet changed, or of another process, is none", () => {
    const { text } = transactions.begin();
    for (let at = 0; at < text.length; at++) {
      const changed = text[at] === "A" ? "B" : "A";
      const forged = text.slice(0, at) + changed + text.slice(at + 1);
      expect(transactions.read(forged)).toBeUndefined();
    }
    for (const bad of [
      "",
      "x",
      text.slice(0, -1),
      `${text}A`,
      text.split(".").slice(1).join("."),
    ]) {
      expect(transactions.read(bad)).toBeUndefined();
    }
    const elsewhere = new Transactions({ clock, random: seededRandom("other") });
    expect(elsewhere.read(text)).toBeUndefined();
  });
});
