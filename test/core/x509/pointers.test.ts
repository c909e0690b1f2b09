/**
 * Pointers of a certificate: what pkid writes is read again, and hostile octets throw DerError and
 * nothing else.
 */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { DerError } from "#core/asn1/cursor.ts";
import { element, implicit, oid, sequence, utf8String } from "#core/asn1/der.ts";
import { encodeGeneralName } from "#core/x509/general-names.ts";
import { encodeName } from "#core/x509/names.ts";
import { authorityInfoAccess, crlDistributionPoints } from "#core/x509/extensions.ts";
import { parseAccess, parseDistributionPoints, pointersOf } from "#core/x509/pointers.ts";

const url = fc
  .webUrl({ validSchemes: ["http", "https"] })
  .filter((text) => /^[\x21-\x7e]+$/.test(text));

test("what is written is read again, in its order", () => {
  fc.assert(
    fc.property(
      fc.array(url, { minLength: 1, maxLength: 5 }),
      url,
      url,
      (crls, ocsp, caIssuers) => {
        const extensions = [crlDistributionPoints(crls), authorityInfoAccess({ ocsp, caIssuers })];
        expect(pointersOf({ extensions })).toEqual({ crls, ocsp: [ocsp], caIssuers: [caIssuers] });
      },
    ),
  );
});

test("a certificate without them has none", () => {
  expect(pointersOf({ extensions: [] })).toEqual({ crls: [], ocsp: [], caIssuers: [] });
});

describe("RFC 5280 §4.2.1.13: a distribution point", () => {
  const point = (...members: readonly Uint8Array[]) => sequence(sequence(...members));
  const uri = (value: string) => encodeGeneralName({ kind: "uri", value });

  test("relative to its issuer, or with reasons only, names no place", () => {
    const relative = element(0xa0, element(0xa1, sequence(oid("2.5.4.3"), utf8String("x"))));
    expect(parseDistributionPoints(point(relative))).toEqual([]);
    expect(parseDistributionPoints(point(implicit(1, Uint8Array.of(5, 0xa0))))).toEqual([]);
  });

  test("may name its place in several forms, of which URIs are read", () => {
    const names = [uri("ldap://a.example/"), directoryName, uri("http://a.example/")];
    expect(parseDistributionPoints(point(element(0xa0, element(0xa0, ...names))))).toEqual([
      "ldap://a.example/",
      "http://a.example/",
    ]);
  });

  const directoryName = element(0xa4, encodeName([{ type: "CN", value: "x" }]).der);
});

test("octets of any kind are read or throw DerError", () => {
  const valid = crlDistributionPoints(["http://a.example/crl"]).value;
  const access = authorityInfoAccess({ ocsp: "http://a.example/ocsp" }).value;
  const hostile = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc
      .tuple(fc.constantFrom(valid, access), fc.nat(), fc.integer({ min: 0, max: 255 }))
      .map(([octets, at, octet]) => octets.with(at % octets.length, octet)),
  );
  fc.assert(
    fc.property(hostile, (octets) => {
      for (const read of [parseDistributionPoints, parseAccess]) {
        try {
          read(octets);
        } catch (error) {
          expect(error).toBeInstanceOf(DerError);
        }
      }
    }),
  );
});
