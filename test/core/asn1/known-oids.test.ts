/** Object identifiers that are known by sight read as those that are decoded do. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { oidText } from "#core/asn1/known-oids.ts";
import { decodeOid } from "#core/asn1/oid-octets.ts";
import { encodedOids } from "#core/asn1/oids.ts";

const agrees = (octets: Uint8Array, start = 0, end = octets.length) =>
  expect(oidText(octets, start, end)).toBe(decodeOid(octets, start, end));

test("each of the table is the text it was encoded from, wherever it stands", () => {
  for (const [dotted, element] of encodedOids) {
    const around = Uint8Array.from([1, 2, 3, ...element.subarray(2), 4]);
    expect(oidText(around, 3, around.length - 1)).toBe(dotted);
    agrees(around, 3, around.length - 1);
  }
});

test("any octets read as they do without being known, near the known ones too", () => {
  const known = fc.constantFrom(...Array.from(encodedOids.values(), (one) => one.subarray(2)));
  const changed = fc
    .tuple(known, fc.nat(20), fc.nat(255))
    .map(([octets, at, value]) => octets.with(at % octets.length, value));
  const short = fc.tuple(fc.constantFrom(0x04, 0x1d, 0x1c), fc.nat(255));
  const arcs = short.map(([second, last]) => Uint8Array.of(0x55, second, last));
  fc.assert(
    fc.property(fc.oneof(known, changed, arcs, fc.uint8Array({ maxLength: 70 })), (octets) =>
      agrees(octets),
    ),
    { numRuns: 2000 },
  );
});
