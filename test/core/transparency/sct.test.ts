/** SCTs, heads and precertificates: round trips, verification, and what is refused. */

import { expect, test } from "bun:test";
import { generateKeyPairSync, sign } from "node:crypto";

import { serialFromBytes } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import { headVerified, originOf, parseCheckpoint, parseSigned } from "#core/transparency/heads.ts";
import { type LogKey, logKeyOf, noteKeyId } from "#core/transparency/log-keys.ts";
import { joined, numberOctets, vectorOctets } from "#core/transparency/octets.ts";
import {
  encodeSct,
  leafIndexOf,
  parseSct,
  parseSctList,
  type Sct,
  sctList,
  sctVerified,
} from "#core/transparency/sct.ts";
import { encodeTbsCertificate, parseCertificate, assembleSigned } from "#core/x509/certificate.ts";
import { basicConstraints, ocspNoCheck } from "#core/x509/extensions.ts";
import { encodeName } from "#core/x509/names.ts";
import { finalTbs, poison, withoutPoison } from "#core/x509/precertificate.ts";

const pairs = {
  ec: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  rsa: generateKeyPairSync("rsa", { modulusLength: 2048 }),
};
const spkiOf = (family: keyof typeof pairs) =>
  new Uint8Array(pairs[family].publicKey.export({ type: "spki", format: "der" }));
const keyOf = (family: keyof typeof pairs): LogKey => logKeyOf(spkiOf(family));
const at = instant(Date.parse("2026-06-01T12:00:00Z"));
const tbs = encodeTbsCertificate({
  serial: serialFromBytes(Uint8Array.of(7)),
  signature: "ecdsa-sha256",
  notBefore: at,
  issuer: encodeName([{ type: "CN", value: "I" }]).der,
  notAfter: instant(at + 1000),
  subject: encodeName([{ type: "CN", value: "S" }]).der,
  spki: spkiOf("ec"),
  extensions: [basicConstraints(true, 3), poison(), ocspNoCheck()],
});
const entry = { issuerKeyHash: new Uint8Array(32).fill(9), tbs: withoutPoison(tbs) };

function sctBy(family: keyof typeof pairs, facts: Partial<Sct> = {}): Sct {
  const [logId, extensions] = [keyOf(family).logId, Uint8Array.of(0, 0, 5, 0, 0, 0, 1, 2)];
  // RFC 6962 §3.2, written out once more.
  const signed = joined(
    Uint8Array.of(0, 0),
    numberOctets(at, 8),
    Uint8Array.of(0, 1),
    entry.issuerKeyHash,
    vectorOctets(entry.tbs, 3),
    vectorOctets(extensions, 2),
  );
  const signature = new Uint8Array(sign("sha256", signed, pairs[family].privateKey));
  const algorithm = family === "ec" ? 3 : 1;
  return {
    logId,
    timestamp: at,
    extensions,
    signature: { hash: 4, algorithm, signature },
    ...facts,
  };
}

test("an SCT by an ECDSA or RSA log verifies over its own entry, key, time and extensions only", () => {
  for (const family of ["ec", "rsa"] as const) {
    const [sct, key] = [sctBy(family), keyOf(family)];
    expect(sctVerified(sct, entry, key)).toBe(true);
    expect(sctVerified({ ...sct, timestamp: instant(at + 1) }, entry, key)).toBe(false);
    expect(sctVerified({ ...sct, extensions: new Uint8Array() }, entry, key)).toBe(false);
    expect(sctVerified(sct, { ...entry, tbs }, key)).toBe(false);
    expect(sctVerified(sct, entry, keyOf(family === "ec" ? "rsa" : "ec"))).toBe(false);
    const weaker = { ...sct.signature, hash: 2 };
    expect(sctVerified({ ...sct, signature: weaker }, entry, key)).toBe(false);
  }
});

test("a log key is P-256 or RSA of 2048 bits", () => {
  const others = [
    generateKeyPairSync("ec", { namedCurve: "P-384" }),
    generateKeyPairSync("rsa", { modulusLength: 1024 }),
    generateKeyPairSync("ed25519"),
  ];
  for (const { publicKey } of others) {
    const spki = new Uint8Array(publicKey.export({ type: "spki", format: "der" }));
    expect(() => logKeyOf(spki)).toThrow("P-256");
  }
});

test("RFC 6962 §3.3: a list of SCTs reads back; an empty, cut off or overlong one does not", () => {
  const scts = [sctBy("ec"), sctBy("rsa")];
  const { value, critical } = sctList(scts);
  expect(critical).toBe(false);
  expect(parseSctList(value)).toEqual(scts);
  expect(() => parseSctList(Uint8Array.of(4, 2, 0, 0))).toThrow("cut off");
  expect(() => parseSctList(value.subarray(0, -1))).toThrow();
  expect(() => parseSctList(Uint8Array.of(4, 3, 0, 0, 0))).toThrow();
});

test("an SCT of another version, or with octets left over, is malformed", () => {
  const octets = encodeSct(sctBy("ec"));
  expect(parseSct(octets)).toEqual(sctBy("ec", { signature: parseSct(octets).signature }));
  expect(() => parseSct(octets.with(0, 1))).toThrow("version 1");
  expect(() => parseSct(joined(octets, Uint8Array.of(0)))).toThrow("after the last member");
  for (let length = 0; length < octets.length; length++) {
    expect(() => parseSct(octets.subarray(0, length))).toThrow();
  }
});

test("c2sp.org/static-ct-api: the leaf index is read past other extensions", () => {
  expect(leafIndexOf(sctBy("ec").extensions)).toBe(258);
  expect(leafIndexOf(Uint8Array.of(9, 0, 1, 0, 0, 0, 5, 0, 0, 0, 0, 4))).toBe(4);
  expect(leafIndexOf(new Uint8Array())).toBeUndefined();
  expect(() => leafIndexOf(Uint8Array.of(0, 0, 1, 0))).toThrow("five octets");
});

test("the final certificate is the precertificate with the SCT list where the poison was", () => {
  const made = finalTbs(tbs, sctList([sctBy("ec")]));
  const whole = (octets: Uint8Array) =>
    parseCertificate(assembleSigned(octets, "ecdsa-sha256", new Uint8Array(8)));
  expect(whole(made).extensions.map(({ oid }) => oid)).toEqual([
    "2.5.29.19",
    "1.3.6.1.4.1.11129.2.4.2",
    "1.3.6.1.5.5.7.48.1.5",
  ]);
  const { extensions: _final, tbs: _made, der: _der, ...final } = whole(made);
  const { extensions: _pre, tbs: _tbs, der: _precert, ...precertificate } = whole(tbs);
  expect(final).toEqual(precertificate);
  expect(finalTbs(tbs, undefined)).toEqual(withoutPoison(tbs));
  expect(() => withoutPoison(withoutPoison(tbs))).toThrow("occurs once");
});

test("a checkpoint of the log verifies; that of another name, key or size does not", () => {
  const key = keyOf("ec");
  const root = new Uint8Array(32).fill(3);
  const message = joined(Uint8Array.of(0, 1), numberOctets(at, 8), numberOctets(41, 8), root);
  const made = new Uint8Array(sign("sha256", message, pairs.ec.privateKey));
  const signed = joined(Uint8Array.of(4, 3), vectorOctets(made, 2));
  const origin = originOf("https://log.example/2026/");
  expect(origin).toBe("log.example/2026");
  const note = joined(noteKeyId(origin, key.logId), numberOctets(at, 8), signed).toBase64();
  const text = (size: string, name = origin) =>
    `${name}\n${size}\n${root.toBase64()}\nmore\n\n\u2014 other.example AAAAAA==\n\u2014 ${name} ${note}\n`;
  const head = parseCheckpoint(text("41"), origin, key);
  expect(head).toMatchObject({ treeSize: 41, timestamp: at });
  expect(headVerified(head, key)).toBe(true);
  expect(headVerified(parseCheckpoint(text("42"), origin, key), key)).toBe(false);
  expect(() => parseCheckpoint(text("41", "x.example"), origin, key)).toThrow("another log");
  expect(() => parseCheckpoint(text("041"), origin, key)).toThrow("no number");
  expect(() => parseCheckpoint(text("41"), origin, keyOf("rsa"))).toThrow("not signed by its log");
  expect(() => parseCheckpoint(text("41").replace("\n\n", "\n"), origin, key)).toThrow();
  expect(parseSigned(signed)).toEqual({ hash: 4, algorithm: 3, signature: made });
});
