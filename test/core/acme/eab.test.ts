/** External account bindings (EAB-2). */

import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";

import { readAccountKey } from "#core/acme/account-keys.ts";
import { parseEabJws, verifyEabJws } from "#core/acme/eab.ts";

import { b64, flattened, pairs, publicJwk } from "./client.ts";
import { codeOf } from "./refused.ts";

const url = "https://ca.example/acme/new-account";
const kid = "eab_1";
const jwk = publicJwk(pairs["P-256"]);
const key = readAccountKey(jwk, "ES256");
const secret = randomBytes(32);
const header = { alg: "HS256", kid, url };

describe("EAB-2: a binding that a library made", () => {
  // The library asks of a key that it is as long as the hash.
  test.each(["HS256", "HS384", "HS512"])("with %s holds", async (alg) => {
    const own = randomBytes(64);
    const eab = parseEabJws(await flattened({ ...header, alg }, jwk, own));
    expect([eab.kid, eab.url, verifyEabJws(eab, own)]).toEqual([kid, url, true]);
    expect(eab.jwk).toBe(key.jwk);
    expect(verifyEabJws(eab, randomBytes(64))).toBe(false);
    const cut = { ...eab, mac: eab.mac.slice(1) };
    expect([verifyEabJws(cut, own), verifyEabJws({ ...eab, mac: cut.mac }, own)]).toEqual([
      false,
      false,
    ]);
  });

  test("is about the key however its members are ordered, and about no other", async () => {
    const turned = Object.fromEntries(Object.entries({ ...jwk, alg: "ES256" }).toReversed());
    const eab = parseEabJws(await flattened(header, turned, secret));
    expect(eab.jwk).toBe(key.jwk);
    const other = parseEabJws(await flattened(header, publicJwk(pairs["P-384"]), secret));
    expect([verifyEabJws(other, secret), other.jwk === key.jwk]).toEqual([true, false]);
  });
});

describe("EAB-2: refused is", () => {
  const parts = { protected: b64(header), payload: b64(jwk), signature: "AAAA" };
  const protectedOf = (more: object) => ({ ...parts, protected: b64({ ...header, ...more }) });
  // biome-ignore format: the table is read by column.
  const wrong: readonly (readonly [string, unknown])[] = [
    ["a text",                            "binding"],
    ["null",                              null],
    ["an algorithm of signatures",        protectedOf({ alg: "ES256" })],
    ["no algorithm",                      protectedOf({ alg: "none" })],
    ["a name of the prototype",           protectedOf({ alg: "toString" })],
    ["no kid",                            protectedOf({ kid: undefined })],
    ["a jwk beside the kid",              protectedOf({ jwk })],
    ["a nonce",                           protectedOf({ nonce: "abc" })],
    ["no url",                            protectedOf({ url: undefined })],
    ["crit",                              protectedOf({ crit: ["kid"] })],
    ["an unprotected header",             { ...parts, header: {} }],
    ["a payload that is no key",          { ...parts, payload: b64({ account: 1 }) }],
    ["an empty payload",                  { ...parts, payload: "" }],
    ["a payload with a member twice",     { ...parts, payload: b64(`{"kty":"EC","kty":"EC"}`) }],
    ["a private key",                     { ...parts, payload: b64(pairs["P-256"].privateKey.export({ format: "jwk" })) }],
  ];
  test.each(wrong)("%s", (_what, value) => {
    expect(codeOf(() => parseEabJws(value))).toBe("acme_malformed");
  });
});
