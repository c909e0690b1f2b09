/** What orders ask for (ORD-1). */

import { describe, expect, test } from "bun:test";
import { isIP } from "node:net";
import fc from "fast-check";

import { provenIdentifier, readIdentifiers, reverseName } from "#core/acme/identifiers.ts";
import { Problem } from "#core/problems.ts";

import { codeOf, refusedBy } from "./refused.ts";

const limits = { max: 5, allowIp: true };
const dns = (value: string) => ({ type: "dns", value });
const ip = (value: string) => ({ type: "ip", value });
const read = (...asked: unknown[]) => readIdentifiers(asked, limits);

describe("ORD-1: identifiers", () => {
  test("are lower-cased, merged and kept in their order", () => {
    const asked = [dns("B.example"), dns("a.example"), dns("b.EXAMPLE"), dns("*.A.example")];
    expect(read(...asked)).toEqual([
      { type: "dns", value: "b.example" },
      { type: "dns", value: "a.example" },
      { type: "dns", value: "*.a.example" },
    ]);
  });

  test("that are addresses are spelled as RFC 5952 has it, and then merged", () => {
    expect(read(ip("2001:DB8:0:0::1"), ip("2001:db8::1"), ip("192.0.2.1"))).toEqual([
      { type: "ip", value: "2001:db8::1" },
      { type: "ip", value: "192.0.2.1" },
    ]);
  });

  test("are as many as may be, duplicates aside, and not one more", () => {
    const many = Array.from({ length: 5 }, (_, at) => dns(`${at}.example`));
    expect(read(...many, ...many)).toHaveLength(5);
    expect(codeOf(() => read(...many, dns("5.example")))).toBe("acme_malformed");
  });

  test.each([
    ["xn--bcher-kva.example"],
    ["localhost"],
    ["a-b.example"],
    [`${"a".repeat(63)}.example`],
    ["1.2.3.example"],
    ["*.example"],
  ])("%s is a name", (value) => {
    expect(read(dns(value))).toEqual([{ type: "dns", value }]);
  });
});

describe("ORD-1: rejected is", () => {
  const long = `${"a".repeat(49)}.`.repeat(5);
  // biome-ignore format: the table is read by column.
  const wrong = [
    ["an address as a name",           "192.0.2.1"],
    ["an IPv6 address as a name",      "2001:db8::1"],
    ["an address as software reads it", "127.1"],
    ["a number at the end",            "a.123"],
    ["a hexadecimal number at the end", "a.0x7f"],
    ["an underscore",                  "_dmarc.example"],
    ["an empty label",                 "a..example"],
    ["a dot at the end",               "a.example."],
    ["a dot in front",                 ".a.example"],
    ["a hyphen in front",              "-a.example"],
    ["a hyphen at the end",            "a-.example"],
    ["64 characters in a label",       `${"a".repeat(64)}.example`],
    ["254 characters",                 `${long}abcd`],
    ["a blank",                        "a .example"],
    ["a zero octet",                   "a\0.example"],
    ["a U-label",                      "b\u00fccher.example"],
    ["an A-label of nothing",          "xn--.example"],
    ["an A-label that decodes to ASCII", "xn--abc-.example"],
    ["an A-label out of range",        "xn--99999999.example"],
    ["hyphens in third and fourth place", "ab--c.example"],
    ["a wildcard inside",              "a.*.example"],
    ["a wildcard in a part of a label", "a*.example"],
    ["two wildcards",                  "*.*.example"],
    ["a wildcard alone",               "*"],
    ["a wildcard of nothing",          "*."],
    ["a wildcard of an address",       "*.192.0.2.1"],
    ["nothing",                        ""],
    ["a port",                         "a.example:443"],
    ["an address in brackets",         "[2001:db8::1]"],
  ] as const;
  test.each(wrong)("%s: %s", (_what, value) => {
    const { code, facts } = refusedBy(() => read(dns("good.example"), dns(value)));
    expect(code).toBe("acme_rejected_identifier");
    expect(facts.subproblems).toMatchObject([
      { type: "rejectedIdentifier", identifier: { type: "dns", value } },
    ]);
  });

  test.each(["192.0.2.256", "192.0.2", "2001:db8::1%eth0", "192.0.2.1/32", "a.example", ""])(
    "%p as an address",
    (value) => {
      expect(codeOf(() => read(ip(value)))).toBe("acme_rejected_identifier");
    },
  );

  test("every one that is, in one refusal, each with its type", () => {
    const { code, facts } = refusedBy(() =>
      read(dns("a_b.example"), dns("ok.example"), dns(""), {
        type: "email",
        value: "a@b.example",
      }),
    );
    expect(code).toBe("acme_rejected_identifier");
    expect(facts.subproblems).toMatchObject([
      { type: "rejectedIdentifier", identifier: { value: "a_b.example" } },
      { type: "rejectedIdentifier", identifier: { value: "" } },
      { type: "unsupportedIdentifier", identifier: { type: "email" } },
    ]);
  });
});

describe("ORD-1: unsupported is", () => {
  test("an address where none are certified, and any other type", () => {
    const names = { max: 5, allowIp: false };
    for (const one of [
      ip("192.0.2.1"),
      { type: "email", value: "x" },
      { type: "DNS", value: "x" },
    ]) {
      const { code, facts } = refusedBy(() => readIdentifiers([one, dns("a.example")], names));
      expect([code, facts.subproblems]).toMatchObject([
        "acme_unsupported_identifier",
        [{ type: "unsupportedIdentifier", identifier: one }],
      ]);
    }
  });
});

test("what is no list of identifiers is malformed", () => {
  const lists = [undefined, null, "a.example", {}, [], [null], ["a"], [[]], [{ type: "dns" }]];
  for (const value of [...lists, [{ type: 1, value: "a" }], [{ type: "dns", value: ["a"] }]]) {
    expect(codeOf(() => readIdentifiers(value, limits))).toBe("acme_malformed");
  }
});

test("a wildcard is proven by the name below it", () => {
  const [wildcard, address] = [dns("*.a.example"), ip("2001:db8::1")] as const;
  expect(read(wildcard, address).map(provenIdentifier)).toMatchObject([dns("a.example"), address]);
});

test("RFC 8738 §6: the names of addresses", () => {
  expect(reverseName("192.0.2.1")).toBe("1.2.0.192.in-addr.arpa");
  expect(reverseName("2001:db8::1")).toBe(
    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
  );
});

test("whatever is asked for is refused, or is what the URL parser takes for a host name", () => {
  const text = fc.oneof(
    fc.domain(),
    fc.string(),
    fc.ipV4(),
    fc.ipV6(),
    fc.stringMatching(/^[a-z0-9.*_-]{1,20}$/),
  );
  fc.assert(
    fc.property(text, (value) => {
      let names: readonly { readonly value: string }[] = [];
      try {
        names = read(dns(value));
      } catch (error) {
        expect(error).toBeInstanceOf(Problem);
      }
      for (const { value: name } of names) {
        const host = name.replace(/^\*\./, "");
        expect([new URL(`http://${host}`).hostname, isIP(host)]).toEqual([host, 0]);
      }
    }),
  );
});
