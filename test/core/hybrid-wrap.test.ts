/**
 * Hybrid wraps: both secrets, every word of the header and the use are needed, and a hybrid
 * envelope is read as no plain one.
 */

import { describe, expect, test } from "bun:test";
import { createDecipheriv, createHmac, hkdfSync } from "node:crypto";
import fc from "fast-check";

import { hkdfSha256 } from "#core/crypto.ts";
import { type Envelope, encodeEnvelope, parseEnvelope, withHeader } from "#core/envelope.ts";
import { type HybridTerms, openUnderBoth, wrapUnderBoth } from "#core/hybrid-wrap.ts";

const filled = (length: number, value: number) => new Uint8Array(length).fill(value);
const secrets = { share: filled(32, 1), shared: filled(32, 2) };
const pqc = { wrappedShare: filled(60, 3), ciphertext: filled(1568, 4) };
const terms: HybridTerms = { kek: "kek", kekVersion: 3, wrap: "AES-256-GCM", pqc };
const [dek, iv] = [filled(32, 5), filled(12, 6)];
const use = "value";
const wrapped = wrapUnderBoth(secrets, { terms, use }, { dek, iv });

test("HKDF is the runtime's, which takes shorter bindings only", () => {
  for (const length of [0, 1, 80, 1024]) {
    const [secret, binding] = [filled(64, 7), filled(length, 8)];
    const theirs = hkdfSync("sha256", secret, new Uint8Array(), binding, 32);
    expect(hkdfSha256(secret, binding)).toEqual(new Uint8Array(theirs));
  }
});

describe("a data key under both secrets", () => {
  test("comes out with both, the header and the use", () => {
    expect(wrapped).toHaveLength(60);
    expect(openUnderBoth(secrets, { terms, use }, wrapped)).toEqual(dek);
  });

  test("is wrapped as anybody can compute it from RFC 5869", () => {
    const words = ["value", "ML-KEM-1024", "kek", "3", "AES-256-GCM"].map((word) =>
      Buffer.from(word),
    );
    const parts = [...words, pqc.wrappedShare, pqc.ciphertext].map((part) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(part.length);
      return Buffer.concat([length, part]);
    });
    const binding = Buffer.concat([Buffer.from("pkid/hybrid-wrap/1"), ...parts]);
    const both = Buffer.concat([secrets.share, secrets.shared]);
    const extracted = createHmac("sha256", Buffer.alloc(32)).update(both).digest();
    const key = createHmac("sha256", extracted).update(binding).update(Buffer.of(1)).digest();
    const cipher = createDecipheriv("aes-256-gcm", key, wrapped.subarray(0, 12));
    cipher.setAAD(binding);
    cipher.setAuthTag(wrapped.subarray(44));
    const opened = Buffer.concat([cipher.update(wrapped.subarray(12, 44)), cipher.final()]);
    expect(new Uint8Array(opened)).toEqual(dek);
  });

  const wrong: readonly (readonly [string, Partial<typeof secrets>])[] = [
    ["another share", { share: filled(32, 9) }],
    ["another ML-KEM secret", { shared: filled(32, 9) }],
    ["no share", { share: new Uint8Array() }],
    ["no ML-KEM secret", { shared: new Uint8Array() }],
    ["the two exchanged", { share: secrets.shared, shared: secrets.share }],
    ["a share that took from the other", { share: filled(31, 1), shared: filled(33, 2) }],
  ];
  test.each(wrong)("stays shut with %s", (_name, change) => {
    expect(openUnderBoth({ ...secrets, ...change }, { terms, use }, wrapped)).toBeUndefined();
  });

  const altered: readonly (readonly [string, Partial<HybridTerms>])[] = [
    ["label", { kek: "kek2" }],
    ["version", { kekVersion: 4 }],
    ["wrap", { wrap: "RSA-OAEP-SHA256" }],
    ["wrapped share", { pqc: { ...pqc, wrappedShare: filled(60, 9) } }],
    ["ML-KEM ciphertext", { pqc: { ...pqc, ciphertext: filled(1568, 9) } }],
  ];
  test.each(altered)("stays shut under a header of another %s", (_name, change) => {
    const other = { terms: { ...terms, ...change }, use };
    expect(openUnderBoth(secrets, other, wrapped)).toBeUndefined();
  });

  test("stays shut for another use, and when any octet of it is another", () => {
    expect(openUnderBoth(secrets, { terms, use: "private key" }, wrapped)).toBeUndefined();
    for (const at of wrapped.keys()) {
      const changed = wrapped.with(at, (wrapped[at] ?? 0) ^ 1);
      expect(openUnderBoth(secrets, { terms, use }, changed)).toBeUndefined();
      expect(openUnderBoth(secrets, { terms, use }, wrapped.slice(0, at))).toBeUndefined();
    }
  });
});

describe("a hybrid envelope", () => {
  const envelope: Envelope = {
    ...terms,
    wrappedDek: wrapped,
    nonce: filled(12, 7),
    commit: filled(32, 8),
    ciphertext: filled(20, 9),
    context: "webhooks/secret/1",
  };
  const text = encodeEnvelope(envelope);

  test("is of version 2, reads as it was written, and as nothing else", () => {
    expect(JSON.parse(text)).toMatchObject({ v: 2, pqc: { kem: "ML-KEM-1024" } });
    expect(parseEnvelope(text)).toEqual(envelope);
    const members = JSON.parse(text);
    const shown = (change: object) => JSON.stringify({ ...members, ...change });
    expect(parseEnvelope(shown({}))).toEqual(envelope);
    const wrongPqc = [
      undefined,
      null,
      "x",
      {},
      { ...members.pqc, kem: "ML-KEM-768" },
      { ...members.pqc, ciphertext: filled(1088, 1).toBase64() },
      { ...members.pqc, wrapped_share: filled(59, 1).toBase64() },
      { ...members.pqc, more: 1 },
    ];
    for (const one of wrongPqc) expect(parseEnvelope(shown({ pqc: one }))).toBeUndefined();
    expect(parseEnvelope(shown({ v: 1 }))).toBeUndefined();
    expect(parseEnvelope(shown({ v: 3 }))).toBeUndefined();
    // A plain one, whose key does not open.
    expect(parseEnvelope(shown({ v: 1, pqc: undefined }))).toBeDefined();
    expect(parseEnvelope(shown({ wrapped_dek: filled(59, 1).toBase64() }))).toBeUndefined();
  });

  test("with RSA the share is as long as the modulus, and the data key as ever", () => {
    const rsa = { ...pqc, wrappedShare: filled(384, 1) };
    const long = { ...envelope, wrap: "RSA-OAEP-SHA256", pqc: rsa } as const;
    expect(parseEnvelope(encodeEnvelope(long))).toEqual(long);
    const swapped = encodeEnvelope({ ...long, wrappedDek: filled(384, 1) });
    expect(parseEnvelope(swapped)).toBeUndefined();
  });

  test("leaves nothing of its header behind under a plain one", () => {
    const plain = { kek: "kek", kekVersion: 4, wrap: "AES-256-GCM", wrappedDek: filled(60, 1) };
    const turned = encodeEnvelope(withHeader(envelope, { ...plain, wrap: "AES-256-GCM" }));
    expect(JSON.parse(turned)).toMatchObject({ v: 1, kek_version: 4 });
    expect(JSON.parse(turned)).not.toHaveProperty("pqc");
  });

  test("no text makes the reader throw", () => {
    const members = JSON.parse(text);
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(members)), fc.jsonValue(), (name, value) => {
        const read = parseEnvelope(JSON.stringify({ ...members, [name]: value }));
        if (read !== undefined) expect(parseEnvelope(encodeEnvelope(read))).toEqual(read);
      }),
    );
  });
});
