/** What a credential permits (EAB-3, P-5). */

import { describe, expect, test } from "bun:test";

import type { Identifier } from "#core/acme/identifiers.ts";
import { type NamePolicy, permits, refusedBy } from "#core/acme/name-policy.ts";

const none: NamePolicy = {
  dnsSuffixes: [],
  ipRanges: [],
  allowWildcards: false,
  anyIdentifier: false,
};
const dns = (value: string): Identifier => ({ type: "dns", value });
const ip = (value: string): Identifier => ({ type: "ip", value });
const suffix: NamePolicy = { ...none, dnsSuffixes: ["Example.com"] };

describe("a suffix permits", () => {
  test.each(["example.com", "a.example.com", "b.a.example.com"])("%s", (name) => {
    expect(permits(suffix, dns(name))).toBe(true);
  });
});

describe("a suffix does not permit", () => {
  test.each(["badexample.com", "com", "example.com.evil.test", "example.co", "*.example.com"])(
    "%s",
    (name) => {
      expect(permits(suffix, dns(name))).toBe(false);
    },
  );

  test("an address, nor does an empty suffix permit anything", () => {
    expect(permits(suffix, ip("192.0.2.1"))).toBe(false);
    expect(permits({ ...none, dnsSuffixes: [""] }, dns("a.example"))).toBe(false);
  });
});

test("wildcards are permitted by their flag, at and below a suffix and nowhere else", () => {
  const wild = { ...suffix, allowWildcards: true };
  expect(permits(wild, dns("*.example.com"))).toBe(true);
  expect(permits(wild, dns("*.a.example.com"))).toBe(true);
  expect(permits(wild, dns("*.com"))).toBe(false);
  expect(permits({ ...none, anyIdentifier: true }, dns("*.a.test"))).toBe(false);
  expect(permits({ ...none, anyIdentifier: true, allowWildcards: true }, dns("*.a.test"))).toBe(
    true,
  );
});

test("an address is permitted by a range of its family only", () => {
  const ranges = { ...none, ipRanges: ["192.0.2.128/25", "2001:db8::/32"] };
  const judged = ["192.0.2.128", "192.0.2.255", "192.0.2.127", "2001:db8:ffff::1", "2001:db9::"];
  expect(judged.map((one) => permits(ranges, ip(one)))).toEqual([true, true, false, true, false]);
  expect(permits({ ...none, ipRanges: ["0.0.0.0/0"] }, ip("::ffff:192.0.2.1"))).toBe(false);
  expect(permits({ ...none, ipRanges: ["::/0"] }, ip("192.0.2.1"))).toBe(false);
  expect(permits({ ...none, ipRanges: ["192.0.2.1/33", "no range"] }, ip("192.0.2.1"))).toBe(false);
});

test("a policy without entries permits nothing, one for any identifier everything but wildcards", () => {
  const all = [dns("a.test"), ip("192.0.2.1"), ip("2001:db8::1")];
  expect(refusedBy(none, all)).toEqual(all);
  expect(refusedBy({ ...none, anyIdentifier: true }, all)).toEqual([]);
  expect(refusedBy(suffix, [dns("a.example.com"), dns("b.test"), dns("c.test")])).toEqual([
    dns("b.test"),
    dns("c.test"),
  ]);
});
