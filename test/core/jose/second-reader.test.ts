/**
 * Tokens between pkid and jose, the library they are held against: what pkid takes jose takes, and
 * what jose lets pass beyond that is why pkid reads tokens itself.
 */

import { describe, expect, test } from "bun:test";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import fc from "fast-check";
import { compactVerify, exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from "jose";

import { readKeySet } from "#core/jose/keys.ts";
import { parseJws, verifyJws } from "#core/jose/jws.ts";

const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

const claims = { iss: "https://idp.test", sub: "alice", aud: ["pkid"], exp: 2_000_000_000 };
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const jwkOf = (key: KeyObject): JWK => key.export({ format: "jwk" });

test.each(algorithms)("a token that jose signs by %s is read and verified alike", async (alg) => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const header = { alg, kid: "k", typ: "at+jwt" };
  const token = await new SignJWT(claims).setProtectedHeader(header).sign(privateKey);
  const jwk = { ...(await exportJWK(publicKey)), kid: "k", use: "sig" };
  expect(await judged(token, jwk)).toEqual({ verdict: "good", claims });
  expect(parseJws(token)).toMatchObject({ algorithm: alg, kid: "k", type: "at+jwt" });
  const other = await generateKeyPair(alg, { extractable: true });
  const stranger = { ...(await exportJWK(other.publicKey)), kid: "k" };
  expect(await judged(token, stranger)).toEqual({ verdict: "bad" });
});

test("a token pkid takes jose takes too, with the same claims, whatever was done to it", async () => {
  const jwk = jwkOf(rsa.publicKey);
  const key = await importJWK(jwk, "RS256");
  const value = fc.constantFrom("RS256", "RS512", "none", "HS256", "JWT", "k", 1, null, true);
  const name = fc.constantFrom("alg", "kid", "typ", "crit", "b64", "jwk", "x5c", "__proto__");
  const header = fc.dictionary(name, value, { maxKeys: 3 });
  const damage = fc.tuple(fc.nat(), fc.constantFrom("", ".", "=", " ", "A", "-", "+", "\n"));
  const one = fc.asyncProperty(header, fc.array(damage, { maxLength: 1 }), async (more, cuts) => {
    let token = signed(b64(JSON.stringify({ alg: "RS256", ...more })), b64(JSON.stringify(claims)));
    for (const [at, piece] of cuts) {
      const place = at % token.length;
      token = token.slice(0, place) + piece + token.slice(place + 1);
    }
    const mine = await judged(token, jwk);
    if (mine.verdict !== "good") return;
    const { payload } = await compactVerify(token, key, { algorithms });
    expect<unknown>(JSON.parse(new TextDecoder().decode(payload))).toEqual(mine.claims);
  });
  await fc.assert(one, { numRuns: 500 });
});

describe("jose takes and pkid refuses", () => {
  const head = b64('{"alg":"RS256"}');
  const good = signed(head, b64(JSON.stringify(claims)));
  const [, body = "", tail = ""] = good.split(".");
  // biome-ignore format: the table is read by column.
  const laxer = [
    ["a second spelling of the signature", `${head}.${body}.${respelled(tail)}`],
    ["padding",                            `${good}==`],
    ["a space behind",                     `${good} `],
    ["a line end behind",                  `${good}\n`],
    ["a space within",                     `${head}.${body}.${tail.slice(0, 9)} ${tail.slice(9)}`],
    ["a key's name that is no text",       signed(b64('{"alg":"RS256","kid":1}'), body)],
    ["a type that is no text",             signed(b64('{"alg":"RS256","typ":1}'), body)],
    ["a parameter that changes the payload", signed(b64('{"alg":"RS256","b64":false}'), body)],
    ["one that must be understood",        signed(b64('{"alg":"RS256","b64":true,"crit":["b64"]}'), body)],
    ["a mark before the header",           signed(b64('\ufeff{"alg":"RS256"}'), body)],
    ["a token of 90,000 characters",       signed(head, b64(JSON.stringify({ sub: "x".repeat(67_000) })))],
  ] as const;
  test.each(laxer)("%s", async (_what, token) => {
    const jwk = jwkOf(rsa.publicKey);
    const key = await importJWK(jwk, "RS256");
    expect((await compactVerify(token, key, { algorithms })).payload).toBeDefined();
    expect(await judged(token, jwk)).toEqual({ verdict: "bad" });
  });

  test("RSA keys that are too short or too long, and keys for encryption", async () => {
    const short = jwkOf(generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey);
    const long = { kty: "RSA", e: "AQAB", n: Buffer.alloc(2048, 0xff).toString("base64url") };
    const forEncryption = { ...jwkOf(rsa.publicKey), use: "enc" };
    for (const jwk of [short, long, forEncryption]) {
      expect(await importJWK(jwk, "RS256")).toMatchObject({ type: "public" });
      expect(readKeySet({ keys: [jwk] })).toEqual([]);
    }
  });
});

/** What pkid makes of a token with one key. */
async function judged(token: string, jwk: JWK) {
  const jws = parseJws(token);
  if (jws === undefined) return { verdict: "bad" } as const;
  const verdict = await verifyJws(jws, readKeySet({ keys: [jwk] }) ?? []);
  return verdict === "good"
    ? ({ verdict, claims: jws.claims } as const)
    : ({ verdict: "bad" } as const);
}

function signed(head: string, body: string): string {
  const text = `${head}.${body}`;
  return `${text}.${sign("sha256", Buffer.from(text), rsa.privateKey).toString("base64url")}`;
}

function b64(text: string): string {
  return Buffer.from(text).toString("base64url");
}

/** The same octets in base64url with other unused bits at the end. */
function respelled(text: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return text.slice(0, -1) + (alphabet[alphabet.indexOf(text.at(-1) ?? "") + 1] ?? "");
}
