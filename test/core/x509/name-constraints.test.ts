/** Name constraints are written as openssl writes them, and what cannot be enforced is refused. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { DerError } from "#core/asn1/cursor.ts";
import { element, explicit, implicit, integer, sequence } from "#core/asn1/der.ts";
import { assembleSigned, encodeTbsCertificate } from "#core/x509/certificate.ts";
import {
  nameConstraints,
  parseCidr,
  parseNameConstraints,
  type Subtrees,
} from "#core/x509/name-constraints.ts";
import { encodeName } from "#core/x509/names.ts";
import { opensslText } from "#test/support/encodings/openssl.ts";
import { makeKey, rootFields } from "#test/support/encodings/x509.ts";

const none: Subtrees = { dns: [], ip: [], email: [], uri: [], dirNames: [] };
const directory = encodeName([{ type: "O", value: "Example" }]).der;
const permitted: Subtrees = {
  dns: ["example.com", ".x.example"],
  ip: ["10.0.0.0/8", "2001:db8::/33"],
  email: ["example.com", "a@b.example"],
  uri: [".example.com"],
  dirNames: [directory],
};
const excluded: Subtrees = { ...none, ip: ["0.0.0.0/0"], dns: [""] };

test("every kind is read back", () => {
  const value = { permitted, excluded };
  expect(parseNameConstraints(nameConstraints(value, true).value)).toEqual(value);
});

test("openssl prints the same subtrees", () => {
  const key = makeKey("ed25519");
  const extensions = [nameConstraints({ permitted, excluded: none }, true)];
  const tbs = encodeTbsCertificate({ ...rootFields(key, "ed25519"), extensions });
  const certificate = assembleSigned(tbs, "ed25519", new Uint8Array(64));
  const text = opensslText(
    ["x509", "-inform", "DER", "-noout", "-ext", "nameConstraints"],
    certificate,
  );
  const lines = text.split("\n").map((line) => line.trim());
  for (const line of [
    "DNS:example.com",
    "DNS:.x.example",
    "IP:10.0.0.0/255.0.0.0",
    "IP:2001:DB8:0:0:0:0:0:0/FFFF:FFFF:8000:0:0:0:0:0",
    "email:example.com",
    "email:a@b.example",
    "URI:.example.com",
    "DirName:O = Example",
  ])
    expect(lines).toContain(line);
  expect(lines[0]).toBe("X509v3 Name Constraints: critical");
});

test("a CIDR loses the bits beyond its prefix and survives without them", () => {
  expect(parseCidr("10.1.2.3/8")?.toHex()).toBe("0a000000ff000000");
  for (const text of [
    "10.0.0.0",
    "10.0.0.0/33",
    "::/129",
    "10.0.0.0/08",
    "10.0.0.0/8/8",
    "/8",
    "x/8",
    "10.0.0.0/",
  ]) {
    expect(parseCidr(text)).toBeUndefined();
  }
  const range = fc.tuple(
    fc.oneof(fc.tuple(fc.ipV4(), fc.nat(32)), fc.tuple(fc.ipV6(), fc.nat(128))),
  );
  fc.assert(
    fc.property(range, ([[address, prefix]]) => {
      const value = { permitted: { ...none, ip: [`${address}/${prefix}`] }, excluded: none };
      const once = parseNameConstraints(nameConstraints(value, true).value);
      expect(parseNameConstraints(nameConstraints(once, true).value)).toEqual(once);
      expect(once.permitted.ip[0]).toEndWith(`/${prefix}`);
    }),
  );
});

describe("refused", () => {
  const constraint = (...parts: readonly Uint8Array[]): Uint8Array =>
    sequence(element(0xa0, sequence(...parts)));
  const dns = implicit(2, Uint8Array.of(0x61));
  const range = (hex: string): Uint8Array => constraint(implicit(7, Uint8Array.fromHex(hex)));

  test.each([
    ["an empty extension", sequence()],
    ["an empty list of subtrees", sequence(element(0xa0))],
    ["an empty subtree", constraint()],
    ["a minimum", constraint(dns, implicit(0, Uint8Array.of(1)))],
    ["a minimum of 0 that is written out", constraint(dns, implicit(0, Uint8Array.of(0)))],
    ["a maximum", constraint(dns, implicit(1, Uint8Array.of(1)))],
    ["a kind that cannot be enforced", constraint(implicit(8, Uint8Array.of(0x2a)))],
    ["a mask that is no prefix", range("0a000000ff00ff00")],
    ["a mask with a hole in an octet", range("0a000000fd000000")],
    ["an address beyond its mask", range("0a010000ff000000")],
    ["an address without a mask", range("0a000000")],
    ["a directory name that is none", constraint(explicit(4, integer(1)))],
    [
      "excluded before permitted",
      sequence(element(0xa1, sequence(dns)), element(0xa0, sequence(dns))),
    ],
  ])("%s", (_name, octets) => expect(() => parseNameConstraints(octets)).toThrow(DerError));

  test("constraining nothing is a bug of the caller", () => {
    expect(() => nameConstraints({ permitted: none, excluded: none }, true)).toThrow("assertion");
  });
});
