/**
 * Envelopes: what is sealed opens at its place and nowhere else, and every altered part is noticed.
 */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  type Envelope,
  encodeEnvelope,
  openEnvelope,
  parseEnvelope,
  sealEnvelope,
} from "#core/envelope.ts";

const octets = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const dek = new Uint8Array(32).fill(7);
const place = "webhooks/secret/4711";
const wrappedDek = new Uint8Array(60).fill(9);
const header = { kek: "kek", kekVersion: 3, wrap: "AES-256-GCM", wrappedDek } as const;
const content = new TextEncoder().encode("the secret");
const sample = sealEnvelope(header, { dek, nonce: new Uint8Array(12).fill(1) }, place, content);

const flipped = (bytes: Uint8Array) => bytes.with(0, (bytes[0] ?? 0) ^ 1);

describe("opening", () => {
  test("what was sealed comes out, also after its text", () => {
    const request = [
      octets(32),
      octets(12),
      fc.string(),
      fc.uint8Array({ maxLength: 300 }),
    ] as const;
    fc.assert(
      fc.property(...request, (key, nonce, context, secret) => {
        const sealed = sealEnvelope(header, { dek: key, nonce }, context.toWellFormed(), secret);
        const read = parseEnvelope(encodeEnvelope(sealed));
        expect(read && openEnvelope(read, key, context.toWellFormed())).toEqual(secret);
      }),
    );
  });

  const altered: readonly (readonly [string, Partial<Envelope>])[] = [
    ["nonce", { nonce: flipped(sample.nonce) }],
    ["commitment", { commit: flipped(sample.commit) }],
    ["ciphertext", { ciphertext: flipped(sample.ciphertext) }],
    ["tag", { ciphertext: sample.ciphertext.with(-1, (sample.ciphertext.at(-1) ?? 0) ^ 1) }],
    ["length", { ciphertext: sample.ciphertext.slice(0, -1) }],
    ["context", { context: "webhooks/secret/4712" }],
  ];
  for (const [part, change] of altered) {
    test(`an altered ${part} keeps it shut`, () => {
      const envelope = { ...sample, ...change };
      expect(openEnvelope(envelope, dek, place)).toBeUndefined();
      expect(openEnvelope(envelope, dek, envelope.context)).toBeUndefined();
    });
  }

  test("a value moved to another row, column or table does not open", () => {
    for (const other of ["webhooks/secret/1", "webhooks/other/4711", "eab/secret/4711", ""]) {
      expect(openEnvelope(sample, dek, other)).toBeUndefined();
    }
  });

  test("another data key is refused by the commitment, and one of another length at all", () => {
    expect(openEnvelope(sample, flipped(dek), place)).toBeUndefined();
    expect(openEnvelope(sample, dek.slice(1), place)).toBeUndefined();
  });

  test("the header may change without the ciphertext: that is what a rotation does", () => {
    const turned = { ...sample, kek: "other", kekVersion: 4, wrappedDek: new Uint8Array(60) };
    expect(openEnvelope(turned, dek, place)).toEqual(content);
  });
});

describe("reading", () => {
  const text = encodeEnvelope(sample);
  const members = (): Record<string, unknown> => JSON.parse(text);

  test("the text is the envelope's, member by member", () => {
    expect(Object.keys(members())).toEqual([
      "v",
      "kek",
      "kek_version",
      "wrap",
      "wrapped_dek",
      "alg",
      "nonce",
      "commit",
      "ciphertext",
      "context",
    ]);
    expect(parseEnvelope(text)).toEqual(sample);
  });

  const wrong: Readonly<Record<string, readonly unknown[]>> = {
    v: [0, 2, "1", null],
    kek: [1, null],
    kek_version: [0, -1, 1.5, "3", 2 ** 53, null],
    wrap: ["RSA-OAEP-SHA1", "RSA-PKCS1", "", null],
    wrapped_dek: ["", "AAAA", "?", 1],
    alg: ["AES-128-GCM", "aes-256-gcm", null],
    nonce: ["", "AAAA", 1],
    commit: ["", "AAAA", 1],
    ciphertext: ["?", "AA", "AA==\n", 1],
    context: [1, null],
  };
  for (const [name, values] of Object.entries(wrong)) {
    test(`a wrong ${name} is not read, and neither is none`, () => {
      for (const value of values) {
        expect(parseEnvelope(JSON.stringify({ ...members(), [name]: value }))).toBeUndefined();
      }
      const { [name]: _gone, ...rest } = members();
      expect(parseEnvelope(JSON.stringify(rest))).toBeUndefined();
    });
  }

  test("a data key wrapped by RSA is as long as the modulus of RSA-3072 or RSA-4096, and no other", () => {
    const textOf = (octets: number, wrap: Envelope["wrap"]) =>
      encodeEnvelope({ ...sample, wrap, wrappedDek: new Uint8Array(octets) });
    for (const octets of [384, 512]) {
      const read = parseEnvelope(textOf(octets, "RSA-OAEP-SHA256"));
      expect(read && openEnvelope(read, dek, place)).toEqual(content);
      expect(parseEnvelope(textOf(octets, "AES-256-GCM"))).toBeUndefined();
    }
    for (const octets of [0, 60, 256, 383, 385, 513]) {
      expect(parseEnvelope(textOf(octets, "RSA-OAEP-SHA256"))).toBeUndefined();
    }
  });

  test("only the one spelling is read", () => {
    const spellings = [
      ` ${text}`,
      JSON.stringify({ ...members(), pqc: "x" }),
      JSON.stringify(members(), undefined, 1),
      text.replace('{"v":1,', '{"v":1,"v":1,'),
      JSON.stringify(Object.fromEntries(Object.entries(members()).reverse())),
      "",
      "null",
      "[]",
      "1",
      "{",
      `"${"x".repeat(300_000)}"`,
    ];
    for (const spelling of spellings) expect(parseEnvelope(spelling)).toBeUndefined();
  });

  test("no text makes the reader throw", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (any) => {
        expect(parseEnvelope(any)).toBeUndefined();
      }),
    );
    const cuts = fc.tuple(fc.nat(text.length - 1), fc.string({ minLength: 1, maxLength: 1 }));
    fc.assert(
      fc.property(cuts, ([at, put]) => {
        const changed = text.slice(0, at) + put + text.slice(at + 1);
        const read = parseEnvelope(changed);
        if (read !== undefined) expect(encodeEnvelope(read)).toBe(changed);
      }),
    );
  });
});
