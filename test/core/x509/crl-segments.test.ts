/** CRLs in segments are octet for octet what the plain encoder writes, however they are cut. */

import { expect, test } from "bun:test";

import fc from "fast-check";

import type { Serial } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import { assembleSigned } from "#core/x509/certificate.ts";
import { type CrlEntry, encodeCrlEntry, encodeTbsCertList } from "#core/x509/crl.ts";
import {
  CrlEntries,
  joined,
  lengthOf,
  piecesOf,
  segmentOctets,
  signedSegments,
  tbsCertListSegments,
} from "#core/x509/crl-segments.ts";
import { crlNumber } from "#core/x509/extensions.ts";
import { encodeName } from "#core/x509/names.ts";

const entries = fc.record({
  serial: fc.bigInt({ min: 1n, max: 2n ** 159n - 1n }).map((value) => String(value) as Serial),
  revokedAt: fc.integer({ min: 0, max: 4_000_000_000_000 }).map(instant),
  reason: fc.constantFrom<CrlEntry["reason"]>(
    "unspecified",
    "keyCompromise",
    "certificateHold",
    "removeFromCRL",
  ),
});
const fields = {
  signature: "ecdsa-sha256" as const,
  issuer: encodeName([{ type: "CN", value: "Segments" }]).der,
  thisUpdate: instant(0),
  nextUpdate: instant(1000),
  extensions: [crlNumber(7)],
};

test("entries, list and signed list are what the plain encoder gives", () => {
  fc.assert(
    fc.property(fc.array(entries, { maxLength: 60 }), (given) => {
      const list = new CrlEntries();
      for (const entry of given) list.add(entry);
      const encoded = given.map(encodeCrlEntry);
      const tbs = encodeTbsCertList({ ...fields, entries: encoded });
      const segments = tbsCertListSegments(fields, list);
      expect([list.count, lengthOf(segments)]).toEqual([given.length, tbs.length]);
      expect(joined(segments)).toEqual(tbs);
      const signature = new Uint8Array(64).fill(1);
      const signed = joined(signedSegments(segments, fields.signature, signature));
      expect(signed).toEqual(assembleSigned(tbs, fields.signature, signature));
    }),
    { numRuns: 300 },
  );
});

test("a list longer than a segment is stored in pieces of one length, which join to it again", () => {
  const list = new CrlEntries();
  for (let n = 1; n <= 30_000; n++) {
    const serial = String(2n ** 120n + BigInt(n)) as Serial;
    list.add({ serial, revokedAt: instant(n), reason: "keyCompromise" });
  }
  const segments = tbsCertListSegments(fields, list);
  const pieces = Array.from(piecesOf(segments, 2), (piece) => piece.slice());
  expect(pieces.length).toBeGreaterThan(2);
  expect(new Set(pieces.slice(0, -1).map(({ length }) => length))).toEqual(
    new Set([segmentOctets]),
  );
  expect(Buffer.from(joined(pieces)).equals(joined(segments))).toBe(true);
});
