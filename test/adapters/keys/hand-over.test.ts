/**
 * Data keys on their way from one signer to another: for one address, and of no use to who carries
 * them.
 */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { boxFor, Mailbox } from "#adapters/keys/signer/hand-over.ts";

const dek = crypto.getRandomValues(new Uint8Array(32));
const shut = expect.objectContaining({ code: "key_unavailable" });

test("a box opens at its address and nowhere else", () => {
  const [mine, other] = [new Mailbox("hand-over"), new Mailbox("hand-over")];
  const box = boxFor(mine.address, dek, "hand-over");
  expect(mine.open(box)).toEqual(dek);
  expect(() => other.open(box)).toThrow(shut);
});

test("a box for an archive is none for a signer, nor the other way round", () => {
  const [signer, archive] = [new Mailbox("hand-over"), new Mailbox("archive")];
  expect(archive.open(boxFor(archive.address, dek, "archive"))).toEqual(dek);
  expect(() => archive.open(boxFor(archive.address, dek, "hand-over"))).toThrow(shut);
  expect(() => signer.open(boxFor(signer.address, dek, "archive"))).toThrow(shut);
});

test("two boxes of one data key have nothing in common, and neither shows it", () => {
  const { address } = new Mailbox("hand-over");
  const [one, two] = [
    Buffer.from(boxFor(address, dek, "hand-over")),
    Buffer.from(boxFor(address, dek, "hand-over")),
  ];
  expect(one.includes(Buffer.from(dek))).toBe(false);
  for (let at = 0; at + 8 <= one.length; at += 8) {
    expect(two.includes(one.subarray(at, at + 8))).toBe(false);
  }
});

test("no altered, cut or invented box opens", () => {
  const mailbox = new Mailbox("hand-over");
  const box = boxFor(mailbox.address, dek, "hand-over");
  const altered = fc.oneof(
    fc
      .tuple(fc.nat(box.length - 1), fc.nat(7))
      .map(([at, bit]) => box.with(at, (box[at] ?? 0) ^ (1 << bit))),
    fc.nat(box.length - 1).map((length) => box.slice(0, length)),
    fc.uint8Array({ maxLength: 120 }),
  );
  fc.assert(
    fc.property(altered, (octets) => {
      // RFC 7748 §5: the highest bit of a public key does not count, but it is bound all the same.
      expect(() => mailbox.open(octets)).toThrow(shut);
    }),
  );
});

test("an address that is no point, or a predictable one, gets no box", () => {
  for (const address of [new Uint8Array(), new Uint8Array(31), new Uint8Array(32)]) {
    expect(() => boxFor(address, dek, "hand-over")).toThrow(shut);
  }
});
