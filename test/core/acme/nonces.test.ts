/** Nonces: whom they come from and how old they are, they show by themselves (AC-4). */

import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import fc from "fast-check";

import { mintNonce, nonceClockToleranceMs, nonceLifeMs, readNonce } from "#core/acme/nonces.ts";
import { instant } from "#core/time.ts";

const key = Uint8Array.from({ length: 32 }, (_, at) => at);
const now = instant(Date.parse("2027-03-01T12:00:00Z"));
const random = Uint8Array.from({ length: 16 }, (_, at) => 0xf0 + at);
const nonce = mintNonce(key, now, random);
const later = (milliseconds: number) => instant(now + milliseconds);

describe("a nonce", () => {
  test("is version, time, random octets and HMAC-SHA-256 cut to 16 octets, in base64url", () => {
    const octets = Buffer.from(nonce, "base64url");
    const signed = octets.subarray(0, 23);
    expect(signed.toString("hex")).toBe(`01${now.toString(16).padStart(12, "0")}${random.toHex()}`);
    const mac = createHmac("sha256", key).update(signed).digest().subarray(0, 16);
    expect(octets.subarray(23).equals(mac)).toBe(true);
    // RFC 8555 §6.5.1: clients drop an answer whose nonce has other characters.
    expect(nonce).toMatch(/^[A-Za-z0-9_-]{52}$/);
  });

  test("AC-4: is good for 30 minutes and no millisecond longer", () => {
    expect(readNonce(key, nonce, now)).toBeDefined();
    expect(readNonce(key, nonce, later(nonceLifeMs))).toBeDefined();
    expect(readNonce(key, nonce, later(nonceLifeMs + 1))).toBeUndefined();
  });

  test("of a replica whose clock is ahead is good, but of none that is far ahead", () => {
    expect(readNonce(key, nonce, later(-nonceClockToleranceMs))).toBeDefined();
    expect(readNonce(key, nonce, later(-nonceClockToleranceMs - 1))).toBeUndefined();
  });

  test("is remembered until the latest clock among the replicas refuses it", () => {
    const { expiresAt = now } = readNonce(key, nonce, now) ?? {};
    const late = instant(expiresAt - nonceClockToleranceMs);
    expect(readNonce(key, nonce, instant(late + 1))).toBeUndefined();
  });

  test("of another key is none", () => {
    expect(readNonce(key.toReversed(), nonce, now)).toBeUndefined();
  });

  test("has an id that sorts by time, and one for each", () => {
    const ids = [0, 1, 999, 86_400_000].map(
      (milliseconds) =>
        readNonce(key, mintNonce(key, later(milliseconds), random), later(milliseconds))?.id ?? "",
    );
    expect(ids.toSorted()).toEqual(ids);
    const other = readNonce(key, mintNonce(key, now, random.toReversed()), now);
    expect(other?.id).not.toBe(ids[0]);
  });
});

test("AC-4: a nonce with any one character changed, more or fewer is none", () => {
  const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=. ";
  for (let at = 0; at < nonce.length; at++) {
    for (const other of characters) {
      if (other === nonce[at]) continue;
      const changed = nonce.slice(0, at) + other + nonce.slice(at + 1);
      expect(readNonce(key, changed, now)).toBeUndefined();
    }
  }
  for (const text of ["", nonce.slice(1), `${nonce}A`, `${nonce}=`, ` ${nonce}`]) {
    expect(readNonce(key, text, now)).toBeUndefined();
  }
});

test("whatever text comes as a nonce is none, and throws nothing", () => {
  const text = fc.oneof(fc.string(), fc.string({ minLength: 52, maxLength: 52 }));
  fc.assert(fc.property(text, (some) => readNonce(key, some, now) === undefined));
});

test("every nonce that was made is read again", () => {
  const octets = fc.uint8Array({ minLength: 16, maxLength: 16 });
  const times = fc.integer({ min: 0, max: 2 ** 47 });
  fc.assert(
    fc.property(octets, times, (some, at) => {
      const read = readNonce(key, mintNonce(key, instant(at), some), instant(at));
      return read?.id.endsWith(some.toHex()) === true;
    }),
  );
});
