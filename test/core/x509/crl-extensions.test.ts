/**
 * The extensions of partitions and deltas: DER as RFC 5280 §5.2 and X.509 §9.5 write it, and read
 * again.
 */

import { expect, test } from "bun:test";

import fc from "fast-check";

import { sha256 } from "#core/crypto.ts";
import { type Serial, serialToBytes } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import {
  deltaCrlIndicator,
  expiredCertsOnCrl,
  freshestCrl,
  issuingDistributionPoint,
  parseDeltaCrlIndicator,
  parseIssuingDistributionPoint,
} from "#core/x509/crl-extensions.ts";
import { crlDistributionPoints } from "#core/x509/extensions.ts";
import { partitionOf } from "#core/x509/partitions.ts";

test("an issuing distribution point is critical, names its URLs, and covers user certificates only", () => {
  const { oid, critical, value } = issuingDistributionPoint(["http://a"]);
  expect([oid, critical]).toEqual(["2.5.29.28", true]);
  // [0] { fullName [0] { URI "http://a" } }, [1] TRUE.
  expect(value.toHex()).toBe(`3011a00ca00a8608${Buffer.from("http://a").toString("hex")}8101ff`);
  const urls = ["http://a/crl/partition/1", "https://b.example/x"];
  expect(parseIssuingDistributionPoint(issuingDistributionPoint(urls).value)).toEqual(urls);
});

test("a delta CRL indicator is critical and carries the number of its base", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 53 - 1 }), (number) => {
      const { oid, critical, value } = deltaCrlIndicator(number);
      expect([oid, critical]).toEqual(["2.5.29.27", true]);
      expect(parseDeltaCrlIndicator(value)).toBe(number);
    }),
  );
});

test("freshestCRL is a distribution point, and not critical", () => {
  const { oid, critical, value } = freshestCrl("http://a/delta");
  expect([oid, critical]).toEqual(["2.5.29.46", false]);
  expect(value).toEqual(crlDistributionPoints(["http://a/delta"]).value);
});

test("expiredCertsOnCRL is a GeneralizedTime, and not critical", () => {
  const { oid, critical, value } = expiredCertsOnCrl(instant(Date.UTC(2026, 0, 2, 3, 4, 5)));
  expect([oid, critical]).toEqual(["2.5.29.60", false]);
  expect(Buffer.from(value.subarray(2)).toString()).toBe("20260102030405Z");
});

test("CRL-8: the partition is the whole SHA-256 of the minimal serial octets modulo the count", () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 1n, max: 2n ** 159n }).map((value) => String(value) as Serial),
      fc.integer({ min: 1, max: 1024 }),
      (serial, count) => {
        const digest = BigInt(`0x${sha256(serialToBytes(serial)).toHex()}`);
        expect(partitionOf(serial, count)).toBe(Number(digest % BigInt(count)));
      },
    ),
  );
});
