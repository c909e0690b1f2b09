/**
 * Tokens of providers: every algorithm of the table, and none of the tricks the format is known
 * for.
 */

import { describe, expect, test } from "bun:test";
import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import fc from "fast-check";

import { type JwsAlgorithm, parseAlgorithm } from "#core/jose/algorithms.ts";
import { readKeySet } from "#core/jose/keys.ts";
import { parseJws, verifyJws } from "#core/jose/jws.ts";

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ed = generateKeyPairSync("ed25519");
const ec = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve });
const p256 = ec("P-256");

const b64 = (value: object | string) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
const jwk = (key: KeyObject, more: object = {}) => ({ ...key.export({ format: "jwk" }), ...more });
const keysOf = (...keys: object[]) => readKeySet({ keys }) ?? [];
const parsed = (token: string) => parseJws(token) ?? expect.unreachable(token);

function signed(header: object, key: KeyObject, options: object, hash: string | null = "sha256") {
  const text = `${b64(header)}.${b64({ sub: "alice" })}`;
  return `${text}.${sign(hash, Buffer.from(text), { key, ...options }).toString("base64url")}`;
}

const p1363 = { dsaEncoding: "ieee-p1363" };
const pss = { padding: 6, saltLength: -1 };
// biome-ignore format: the table is read by column.
const every = [
  ["RS256", rsa, {}, "sha256"], ["RS384", rsa, {}, "sha384"], ["RS512", rsa, {}, "sha512"],
  ["PS256", rsa, pss, "sha256"], ["PS384", rsa, pss, "sha384"], ["PS512", rsa, pss, "sha512"],
  ["ES256", p256, p1363, "sha256"], ["ES384", ec("P-384"), p1363, "sha384"], ["ES512", ec("P-521"), p1363, "sha512"],
  ["EdDSA", ed, {}, null], ["Ed25519", ed, {}, null],
] as const;

describe("a signature", () => {
  test.each(every)(
    "by %s holds, and not with one bit changed",
    async (alg, pair, options, hash) => {
      const keys = keysOf(jwk(pair.publicKey, { kid: "k" }));
      const jws = parsed(signed({ alg, kid: "k" }, pair.privateKey, options, hash));
      expect(await verifyJws(jws, keys)).toBe("good");
      const signature = jws.signature.slice();
      signature[10] = (signature[10] ?? 0) ^ 1;
      expect(await verifyJws({ ...jws, signature }, keys)).toBe("bad");
      const text = jws.signed.slice();
      text[text.length - 1] = (text.at(-1) ?? 0) ^ 1;
      expect(await verifyJws({ ...jws, signed: text }, keys)).toBe("bad");
    },
  );

  test("by one algorithm does not pass for another of the same key", async () => {
    const keys = keysOf(jwk(rsa.publicKey));
    for (const alg of ["RS384", "RS512", "PS256", "PS384", "PS512"] as const) {
      const jws = parsed(signed({ alg }, rsa.privateKey, {}));
      expect([alg, await verifyJws(jws, keys)]).toEqual([alg, "bad"]);
    }
    const declared = keysOf(jwk(rsa.publicKey, { alg: "PS256" }));
    const jws = parsed(signed({ alg: "RS256" }, rsa.privateKey, {}));
    expect(await verifyJws(jws, declared)).toBe("unknown_key");
  });

  test("of ECDSA in DER, or of another length, is none", async () => {
    const keys = keysOf(jwk(p256.publicKey));
    const der = parsed(signed({ alg: "ES256" }, p256.privateKey, { dsaEncoding: "der" }));
    expect(await verifyJws(der, keys)).toBe("bad");
    const zeros = { ...der, signature: new Uint8Array(64) };
    expect(await verifyJws(zeros, keys)).toBe("bad");
  });
});

describe("the algorithm", () => {
  test("none, an HMAC, or anything of another spelling is no token at all", () => {
    const others = ["none", "None", "NONE", "nOnE", "", "HS256", "HS384", "HS512", "rs256"];
    for (const alg of [...others, "RS1", "ES256K", "dir", "__proto__", "toString", 1, null, []]) {
      expect(parseAlgorithm(alg)).toBeUndefined();
      expect(parseJws(`${b64({ alg })}.${b64({})}.${b64("x")}`)).toBeUndefined();
    }
    expect(parseJws(`${b64({ alg: "none" })}.${b64({})}.`)).toBeUndefined();
  });

  test("an HMAC keyed with the public key proves nothing", async () => {
    const pem = rsa.publicKey.export({ type: "spki", format: "pem" });
    for (const alg of ["HS256", "RS256", "ES256", "EdDSA"]) {
      const text = `${b64({ alg })}.${b64({ sub: "root" })}`;
      const mac = createHmac("sha256", pem).update(text).digest("base64url");
      const jws = parseJws(`${text}.${mac}`);
      const keys = keysOf(jwk(rsa.publicKey), {
        kty: "oct",
        k: Buffer.from(pem).toString("base64url"),
      });
      expect(keys).toHaveLength(1);
      expect([alg, jws === undefined ? "bad" : await verifyJws(jws, keys)]).not.toEqual([
        alg,
        "good",
      ]);
    }
  });
});

describe("the key", () => {
  const token = signed({ alg: "RS256", kid: "k" }, rsa.privateKey, {});

  test("is never taken from the token", async () => {
    const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const planted = {
      alg: "RS256",
      kid: "k",
      jwk: jwk(stranger.publicKey),
      jku: "https://evil.test/jwks",
      x5u: "https://evil.test/x",
      x5c: ["AAAA"],
    };
    const jws = parsed(signed(planted, stranger.privateKey, {}));
    expect(await verifyJws(jws, keysOf(jwk(rsa.publicKey, { kid: "k" })))).toBe("bad");
  });

  test("is the one of that name and of the right type, or none", async () => {
    const right = jwk(rsa.publicKey, { kid: "k" });
    expect(await verifyJws(parsed(token), keysOf(right, jwk(p256.publicKey, { kid: "k" })))).toBe(
      "good",
    );
    for (const kid of ["K", "k ", "../k", "", "k'--", "__proto__"]) {
      const keys = keysOf(jwk(rsa.publicKey, { kid }));
      expect([kid, await verifyJws(parsed(token), keys)]).toEqual([kid, "unknown_key"]);
    }
    const twice = keysOf(
      right,
      jwk(generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey, { kid: "k" }),
    );
    expect(await verifyJws(parsed(token), twice)).toBe("bad");
  });

  test("may go without a name only while there is no choice", async () => {
    const nameless = parsed(signed({ alg: "RS256" }, rsa.privateKey, {}));
    const own = jwk(rsa.publicKey, { kid: "a" });
    expect(await verifyJws(nameless, keysOf(own))).toBe("good");
    const other = jwk(generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey, { kid: "b" });
    expect(await verifyJws(nameless, keysOf(own, other))).toBe("bad");
  });

  test("that is short, symmetric, for encryption, off its curve or of no known type is left out", () => {
    const short = generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey;
    const { n = "" } = short.export({ format: "jwk" });
    const padded = Buffer.concat([Buffer.alloc(200), Buffer.from(n, "base64url")]);
    const point = jwk(p256.publicKey);
    for (const bad of [
      jwk(short),
      { ...jwk(short), n: padded.toString("base64url") },
      jwk(rsa.publicKey, { use: "enc" }),
      jwk(rsa.publicKey, { key_ops: ["encrypt"] }),
      jwk(rsa.publicKey, { alg: "HS256" }),
      jwk(rsa.publicKey, { alg: "ES256" }),
      { ...point, crv: "P-384" },
      { ...point, y: point.x },
      { ...point, crv: "secp256k1" },
      { kty: "oct", k: "AAAA" },
      { kty: "RSA" },
      {},
      null,
      "key",
      1,
      [],
    ]) {
      expect([bad, readKeySet({ keys: [bad] })]).toEqual([bad, []]);
    }
    for (const set of [undefined, null, {}, { keys: {} }, [], { keys: Array(101).fill({}) }]) {
      expect(readKeySet(set)).toBeUndefined();
    }
  });

  test("published with its private half by mistake is used as a public key", async () => {
    const [key] = keysOf(jwk(rsa.privateKey, { kid: "k" }));
    expect(key?.key).toMatchObject({ type: "public" });
    expect(await verifyJws(parsed(token), key === undefined ? [] : [key])).toBe("good");
  });
});

describe("the form", () => {
  const good = signed({ alg: "RS256" }, rsa.privateKey, {});
  const [head = "", body = "", tail = ""] = good.split(".");

  test("has three parts of canonical base64url, and objects in two of them", () => {
    expect(parseJws(good)).toBeDefined();
    for (const bad of [
      "",
      "..",
      `${head}.${body}`,
      `${good}.`,
      `${good}.x`,
      `${head}..${tail}`,
      ` ${good}`,
      `${good}=`,
      `${good}\n`,
      `${head}=.${body}.${tail}`,
      `${head}.${body}.${tail.slice(0, -1)}+`,
      `${b64("[]")}.${body}.${tail}`,
      `${b64("1")}.${body}.${tail}`,
      `${head}.${b64("[]")}.${tail}`,
      `${b64('{"alg":"RS256"')}.${body}.${tail}`,
      `${head}.${b64('"x"')}.${tail}`,
      `${b64({ alg: "RS256", kid: 1 })}.${body}.${tail}`,
      `${"A".repeat(70_000)}.${body}.${tail}`,
      `${Buffer.from([0x7b, 0xff, 0x7d]).toString("base64url")}.${body}.${tail}`,
    ]) {
      expect([bad, parseJws(bad)]).toEqual([bad, undefined]);
    }
  });

  test("asks for nothing that must be understood (RFC 7515 §4.1.11)", () => {
    for (const more of [{ crit: ["exp"] }, { crit: [] }, { b64: false }]) {
      const header = b64({ alg: "RS256", ...more });
      expect(parseJws(`${header}.${body}.${tail}`)).toBeUndefined();
    }
  });

  test("of any text is read or refused, and nothing is thrown", async () => {
    const keys = keysOf(jwk(rsa.publicKey), jwk(p256.publicKey), jwk(ed.publicKey));
    const alg = fc.constantFrom<JwsAlgorithm>(...every.map(([name]) => name));
    await fc.assert(
      fc.asyncProperty(alg, fc.jsonValue(), fc.uint8Array(), async (name, claims, octets) => {
        const tailOf = Buffer.from(octets).toString("base64url");
        const token = `${b64({ alg: name })}.${b64(JSON.stringify(claims))}.${tailOf}`;
        const jws = parseJws(token);
        if (jws !== undefined) expect(await verifyJws(jws, keys)).not.toBe("good");
      }),
    );
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void parseJws(text)));
    fc.assert(fc.property(fc.anything(), (set) => void readKeySet(set)));
  });
});
