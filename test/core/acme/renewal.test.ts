/** When a certificate is to be renewed (RFC 9773). */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { certId, pulled, readCertId, window } from "#core/acme/renewal.ts";
import { serialFromBytes } from "#core/ids.ts";
import { instant } from "#core/time.ts";

const hour = 3_600_000;
const day = 24 * hour;
const settings = {
  renewal_window_days: 0,
  renewal_window_width_hours: 0,
  renewal_poll_hours: 6,
};
const notBefore = instant(Date.parse("2027-01-01T00:00:00Z"));
const now = instant(notBefore + day);
const of = (lifetime: number, more: object = {}) =>
  window({
    notBefore,
    notAfter: instant(notBefore + lifetime),
    settings: { ...settings, ...more },
    now,
    hurried: false,
  });

describe("ARI-1: the name of a certificate", () => {
  /** RFC 9773 §4.1. */
  const example = "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE";
  const keyId = "69885b6b87464041e1b37b847ba0ae2cde01c8d4";
  const serial = serialFromBytes(Uint8Array.fromHex("8765432100".slice(0, 8)));

  test("RFC 9773 §4.1: is that of the example, there and back", () => {
    expect(certId(Uint8Array.fromHex(keyId), serial)).toBe(example);
    expect(readCertId(example)).toEqual({ keyId, serial });
  });

  const [key = "", number = ""] = example.split(".");
  test.each([
    ["no dot", key + number],
    ["two dots", `${example}.`],
    ["no key", `.${number}`],
    ["no serial", `${key}.`],
    ["padding", `${key}=.${number}`],
    ["the other alphabet", `${key.slice(0, 26)}+.${number}`],
    ["bits that belong to no octet", `${key.slice(0, 26)}R.${number}`],
    ["a serial of zero", `${key}.AA`],
    ["an octet of zero too many", `${key}.AADHZUMh`],
    ["an octet of zero that is not needed", `${key}.AH9l`],
    ["a serial of 21 octets", `${key}.${Buffer.alloc(21, 1).toString("base64url")}`],
    ["no end", `${"A".repeat(4000)}.${number}`],
    ["nothing", ""],
  ])("with %s is none", (_what, text) => {
    expect(readCertId(text)).toBeUndefined();
  });

  test("a name without the leading zero of its serial is read, because mod_md omits it", () => {
    expect(readCertId(`${key}.h2VDIQ`)).toEqual({ keyId, serial });
  });

  test("of every key and serial is read back, and no other text is read as it", () => {
    const serials = fc
      .uint8Array({ minLength: 1, maxLength: 20 })
      .filter((some) => some.some(Boolean));
    const keys = fc.uint8Array({ minLength: 1, maxLength: 64 });
    fc.assert(
      fc.property(keys, serials, (some, octets) => {
        const text = certId(some, serialFromBytes(octets));
        expect(readCertId(text)).toEqual({ keyId: some.toHex(), serial: serialFromBytes(octets) });
      }),
    );
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[\w-]{0,8}\.[\w-]{0,8}$/)), (text) => {
        const read = readCertId(text);
        if (read === undefined) return;
        const [name = "", content = ""] = text.split(".");
        const bytes = Buffer.concat([Buffer.of(0), Buffer.from(content, "base64url")]);
        const withZero = `${name}.${bytes.toString("base64url")}`;
        expect([text, withZero]).toContain(certId(Uint8Array.fromHex(read.keyId), read.serial));
      }),
    );
  });
});

describe("ARI-2: the window", () => {
  test("begins a third of the lifetime before the end, and is half of that wide", () => {
    const { start, end, retryAfterSeconds } = of(90 * day);
    expect([start - notBefore, end - notBefore]).toEqual([60 * day, 75 * day]);
    expect(retryAfterSeconds).toBe(6 * 3600);
  });

  test("begins as many days before the end as is set, but never before half of the lifetime", () => {
    const begins = (days: number) => of(90 * day, { renewal_window_days: days }).start - notBefore;
    expect([10, 45, 46, 3650].map(begins)).toEqual([80 * day, 45 * day, 45 * day, 45 * day]);
  });

  test("is as wide as is set, but ends before the certificate", () => {
    const ends = (hours: number) =>
      of(90 * day, { renewal_window_width_hours: hours }).end - notBefore;
    expect([1, 24, 720].map(ends)).toEqual([60 * day + hour, 61 * day, 90 * day - 1000]);
    expect(ends(87_600)).toBe(90 * day - 1000);
  });

  test("is asked about every few hours, of short lives more often, but once a minute at most", () => {
    expect(of(90 * day, { renewal_poll_hours: 1 }).retryAfterSeconds).toBe(3600);
    expect(of(2 * day).retryAfterSeconds).toBe(7200);
    expect(of(hour).retryAfterSeconds).toBe(150);
    expect(of(10 * 60_000).retryAfterSeconds).toBe(60);
  });

  test("of every lifetime and setting ends behind its start and before the certificate", () => {
    const hours = fc.integer({ min: 0, max: 87_600 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40_000_000 }), hours, hours, (seconds, days, width) => {
        const set = { renewal_window_days: days, renewal_window_width_hours: width };
        const { start, end, retryAfterSeconds } = of(seconds * 1000, set);
        const notAfter = notBefore + seconds * 1000;
        expect(start < end && end < notAfter && start >= notBefore).toBe(true);
        expect(retryAfterSeconds >= 60 && Number.isInteger(retryAfterSeconds)).toBe(true);
      }),
    );
  });
});

test("ARI-3: a certificate that is to be replaced at once has a window that is over", () => {
  const notAfter = instant(notBefore + 90 * day);
  expect(window({ notBefore, notAfter, settings, now, hurried: true })).toEqual({
    start: instant(now - hour),
    end: now,
    retryAfterSeconds: 3600,
  });
});

describe("a window that was planned for a certificate", () => {
  const own = (width: number) => ({ start: instant(now + hour), end: instant(now + hour + width) });
  const asked = (width: number, poll = 21_600) =>
    pulled({ retryAfterSeconds: poll }, own(width)).retryAfterSeconds;

  test("is given as it is", () => {
    expect(pulled({ retryAfterSeconds: 60 }, own(day))).toEqual({
      ...own(day),
      retryAfterSeconds: 60,
    });
  });

  test("is asked about four times while it lasts, or as often as without it", () => {
    expect([asked(4 * hour), asked(30 * day), asked(4 * hour, 600)]).toEqual([3600, 21_600, 600]);
  });

  test("is asked about once a minute at most, or in ten seconds when it is short", () => {
    expect(asked(600_000)).toBe(150);
    expect(asked(600_000, 30)).toBe(60);
    expect([asked(599_000), asked(100_000), asked(1000)]).toEqual([149, 25, 10]);
  });
});
