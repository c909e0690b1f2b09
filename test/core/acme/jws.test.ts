/** What clients sign: every algorithm of the list, and none of the format's known tricks. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { flattenedVerify } from "jose";

import { readAccountKey } from "#core/acme/account-keys.ts";
import {
  parseInnerJws,
  parseJws,
  payloadObject,
  signedOctets,
  verifyAcmeJws,
} from "#core/acme/jws.ts";

import { b64, flattened, message, pairs, publicJwk, signers } from "./client.ts";
import { codeOf, refusedBy } from "./refused.ts";

const url = "https://ca.example/acme/new-order";
const kid = "https://ca.example/acme/acct/1";
const header = { alg: "ES256", kid, url, nonce: "abc" };
const octetsOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

describe("AC-2: a signature that a library made", () => {
  test.each(signers)("by %s holds, and not with one bit changed", async (alg, pair) => {
    const jws = parseJws(octetsOf(await flattened({ ...header, alg }, { a: 1 }, pair.privateKey)));
    const key = readAccountKey(publicJwk(pair), alg);
    expect(await verifyAcmeJws(jws, key)).toBe(true);
    const signature = Uint8Array.from(jws.signature);
    signature[9] = (signature[9] ?? 0) ^ 1;
    expect(await verifyAcmeJws({ ...jws, signature }, key)).toBe(false);
    expect(await verifyAcmeJws({ ...jws, payloadText: b64({ a: 2 }) }, key)).toBe(false);
    expect(await verifyAcmeJws({ ...jws, protectedText: b64({}) }, key)).toBe(false);
  });

  test.each(signers)("by %s is none by any other algorithm or key", async (alg, pair) => {
    const jws = parseJws(octetsOf(await flattened({ ...header, alg }, {}, pair.privateKey)));
    const key = readAccountKey(publicJwk(pair), alg);
    for (const [other, others] of signers) {
      if (other === alg) continue;
      expect(await verifyAcmeJws({ ...jws, algorithm: other }, key)).toBe(false);
      if (others === pair) continue;
      expect(await verifyAcmeJws(jws, readAccountKey(publicJwk(others), other))).toBe(false);
    }
  });

  test("of ECDSA is refused as X.509 writes it, short, long and of zeros", async () => {
    const pair = pairs["P-256"];
    const jws = parseJws(octetsOf(await flattened(header, {}, pair.privateKey)));
    const key = readAccountKey(publicJwk(pair), "ES256");
    const { sign } = await import("node:crypto");
    const signed = signedOctets(jws.protectedText, jws.payloadText);
    const der = sign("sha256", signed, pair.privateKey);
    const zeros = new Uint8Array(64);
    const wrong = [der, zeros, jws.signature.slice(1), Buffer.concat([jws.signature, zeros])];
    for (const signature of wrong) {
      expect(await verifyAcmeJws({ ...jws, signature }, key)).toBe(false);
    }
  });
});

test("RFC 8555 §6.3: an empty payload is a request to read, and an empty object is none", async () => {
  const { privateKey } = pairs["P-256"];
  const read = parseJws(octetsOf(await flattened(header, undefined, privateKey)));
  expect([read.postAsGet, read.payload.length]).toEqual([true, 0]);
  const asked = parseJws(octetsOf(await flattened(header, {}, privateKey)));
  expect([asked.postAsGet, payloadObject(asked)]).toEqual([false, {}]);
});

test("a message says who signs, with what, and where it goes", () => {
  const jws = parseJws(message(header, { b: [1] }));
  expect(jws).toMatchObject({ algorithm: "ES256", kid, url, nonce: "abc" });
  expect("jwk" in jws).toBe(false);
  const jwk = publicJwk(pairs["P-256"]);
  const keyed = parseJws(message({ alg: "ES256", jwk, url, typ: "ignored" }));
  expect([keyed.jwk, "kid" in keyed, keyed.nonce]).toEqual([jwk, false, undefined]);
});

describe("AC-2: refused is", () => {
  const parts = { protected: b64(header), payload: b64({}), signature: "AAAA" };
  const { alg: _alg, ...noAlg } = header;
  const { url: _url, ...noUrl } = header;
  const { kid: _kid, ...noKid } = header;
  // biome-ignore format: the table is read by column.
  const wrong: readonly (readonly [string, unknown])[] = [
    ["an unprotected header",                 { ...parts, header: { alg: "ES256" } }],
    ["the general form",                      { payload: parts.payload, signatures: [parts] }],
    ["both forms",                            { ...parts, signatures: [] }],
    ["a further member",                      { ...parts, more: 1 }],
    ["no payload",                            { protected: parts.protected, signature: "AAAA" }],
    ["no signature",                          { ...parts, signature: "" }],
    ["a list",                                [parts]],
    ["the compact form",                      `${parts.protected}.${parts.payload}.AAAA`],
    ["a payload that is an object",           { ...parts, payload: {} }],
    ["padding",                               { ...parts, payload: `${b64("a")}==` }],
    ["the other alphabet",                    { ...parts, payload: "+/+/" }],
    ["bits that belong to no octet",          { ...parts, payload: "AB" }],
    ["blanks in base64url",                   { ...parts, payload: " AAAA" }],
    ["a header that is no object",            { ...parts, protected: b64("[]") }],
    ["an empty header",                       { ...parts, protected: "" }],
    ["a header with a member twice",          { ...parts, protected: b64(`{"alg":"ES256","kid":"a","url":"b","url":"c"}`) }],
    ["crit",                                  { ...parts, protected: b64({ ...header, crit: [] }) }],
    ["b64",                                   { ...parts, protected: b64({ ...header, b64: false }) }],
    ["no alg",                                { ...parts, protected: b64(noAlg) }],
    ["no url",                                { ...parts, protected: b64(noUrl) }],
    ["neither jwk nor kid",                   { ...parts, protected: b64(noKid) }],
    ["both jwk and kid",                      { ...parts, protected: b64({ ...header, jwk: {} }) }],
    ["a kid that is no text",                 { ...parts, protected: b64({ ...header, kid: 1 }) }],
    ["a nonce that is no text",               { ...parts, protected: b64({ ...header, nonce: null }) }],
    ["a url that is no text",                 { ...parts, protected: b64({ ...header, url: [url] }) }],
  ];
  test.each(wrong)("%s", (_what, value) => {
    expect(codeOf(() => parseJws(octetsOf(value)))).toBe("acme_malformed");
  });

  test("a member twice in the message itself", () => {
    const text = JSON.stringify(parts).replace("{", `{"payload":"AAAA",`);
    expect(codeOf(() => parseJws(Buffer.from(text)))).toBe("acme_malformed");
  });

  test("more than 256 KiB, before anything is read", () => {
    expect(codeOf(() => parseJws(new Uint8Array(262_145)))).toBe("acme_malformed");
    const room = 262_144 - message(header, "").length;
    const long = message(header, "a".repeat(Math.floor((room * 3) / 4)));
    expect(parseJws(long).payload.length).toBeGreaterThan(190_000);
  });

  test.each(["none", "HS256", "ES256K", "RS1", "Ed25519", "es256", "", "toString"])(
    "the algorithm %p, with those that are accepted",
    (alg) => {
      const { code, facts } = refusedBy(() => parseJws(message({ ...header, alg })));
      expect(code).toBe("acme_bad_signature_algorithm");
      expect([...(facts.algorithms as string[])].sort()).toEqual(
        signers.map(([one]) => one).sort(),
      );
    },
  );
});

describe("a payload", () => {
  test.each([["[]"], ["null"], ["{"], [""], ['{"a":1,"a":2}'], ["\ufeff{}"]])(
    "of %p is refused",
    (text) => {
      const payload = Buffer.from(text);
      expect(codeOf(() => payloadObject({ payload }))).toBe("acme_malformed");
    },
  );
});

describe("RFC 8555 §7.3.5: the inner message of a key change", () => {
  const jwk = publicJwk(pairs["P-256"]);
  test("names its key and has no nonce", () => {
    const inner = parseInnerJws(message({ alg: "ES256", jwk, url }, { account: kid }));
    expect([inner.jwk, inner.url, payloadObject(inner)]).toEqual([jwk, url, { account: kid }]);
  });

  test.each([
    ["a kid", { alg: "ES256", kid, url }],
    ["a nonce", { alg: "ES256", jwk, url, nonce: "abc" }],
  ])("is refused with %s", (_what, wrong) => {
    expect(codeOf(() => parseInnerJws(message(wrong)))).toBe("acme_malformed");
  });
});

test("whatever octets come, they are read or refused, and never verify", async () => {
  const { privateKey, publicKey } = pairs["P-256"];
  const jws = await flattened(header, { a: 1 }, privateKey);
  const octets = octetsOf(jws);
  const key = readAccountKey(publicJwk(pairs["P-256"]), "ES256");
  const change = fc.tuple(fc.nat(octets.length - 1), fc.integer({ min: 1, max: 255 }));
  await fc.assert(
    fc.asyncProperty(change, async ([at, by]) => {
      const changed = Uint8Array.from(octets);
      changed[at] = (changed[at] ?? 0) ^ by;
      const read = (() => {
        try {
          return parseJws(changed);
        } catch {
          return undefined;
        }
      })();
      expect(read === undefined || !(await verifyAcmeJws(read, key))).toBe(true);
    }),
  );
  // The library agrees that the message as it was made is good.
  expect((await flattenedVerify(jws, publicKey)).payload.length).toBe(7);
});
