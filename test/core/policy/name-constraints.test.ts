/** Name constraints: RFC 5280 §4.2.1.10 for every kind of name, along a whole path. */

import { expect, test } from "bun:test";

import {
  type NameViolation,
  pathViolations,
  profileViolations,
  unpermittedSubtrees,
} from "#core/policy/name-constraints.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import type { NameConstraints, Subtrees } from "#core/x509/name-constraints.ts";
import { encodeName, type NameAttribute } from "#core/x509/names.ts";

const none: Subtrees = { dns: [], ip: [], email: [], uri: [], dirNames: [] };
const permitted = (trees: Partial<Subtrees>): NameConstraints => ({
  permitted: { ...none, ...trees },
  excluded: none,
});
const excluded = (trees: Partial<Subtrees>): NameConstraints => ({
  permitted: none,
  excluded: { ...none, ...trees },
});
const why = (
  sans: readonly GeneralName[],
  path: readonly NameConstraints[],
  subject: readonly NameAttribute[] = [],
) => pathViolations({ subject: encodeName(subject), sans }, path).map((v) => v.why);
const dns = (value: string) => [{ kind: "dns", value }] as const;
const ip = (value: string) => [{ kind: "ip", value }] as const;
const email = (value: string) => [{ kind: "email", value }] as const;
const uri = (value: string) => [{ kind: "uri", value }] as const;

// biome-ignore format: the table is read by column.
const cases: readonly [readonly GeneralName[], NameConstraints, NameViolation["why"][]][] = [
  [dns("a.example.com"),        permitted({ dns: ["example.com"] }),      []],
  [dns("example.com"),          permitted({ dns: ["example.com"] }),      []],
  [dns("A.EXAMPLE.com"),        permitted({ dns: ["Example.COM"] }),      []],
  [dns("badexample.com"),       permitted({ dns: ["example.com"] }),      ["not permitted"]],
  [dns("example.com"),          permitted({ dns: [".example.com"] }),     ["not permitted"]],
  [dns("a.example.com"),        permitted({ dns: [".example.com"] }),     []],
  [dns("*.example.com"),        permitted({ dns: ["example.com"] }),      []],
  [dns("*.example.com"),        permitted({ dns: ["a.example.com"] }),    ["not permitted"]],
  [dns("a.test"),               permitted({ dns: ["example", "test"] }),  []],
  [dns("a.example.com"),        excluded({ dns: ["example.com"] }),       ["excluded"]],
  [dns("b.example.com"),        excluded({ dns: ["a.example.com"] }),     []],
  [dns("*.example.com"),        excluded({ dns: ["a.example.com"] }),     ["excluded"]],
  [dns("anything"),             excluded({ dns: [""] }),                  ["excluded"]],
  [dns("a.example"),            permitted({ ip: ["10.0.0.0/8"] }),        []],
  [ip("10.1.2.3"),              permitted({ ip: ["10.0.0.0/8"] }),        []],
  [ip("11.1.2.3"),              permitted({ ip: ["10.0.0.0/8"] }),        ["not permitted"]],
  [ip("2001:db8::1"),           permitted({ ip: ["10.0.0.0/8"] }),        ["not permitted"]],
  [ip("2001:db8::1"),           permitted({ ip: ["2001:db8::/32"] }),     []],
  [ip("10.1.2.3"),              excluded({ ip: ["10.1.2.0/24"] }),        ["excluded"]],
  [email("a@example.com"),      permitted({ email: ["example.com"] }),    []],
  [email("a@sub.example.com"),  permitted({ email: ["example.com"] }),    ["not permitted"]],
  [email("a@sub.example.com"),  permitted({ email: [".example.com"] }),   []],
  [email("a@example.com"),      permitted({ email: ["a@example.com"] }),  []],
  [email("b@example.com"),      permitted({ email: ["a@example.com"] }),  ["not permitted"]],
  [email("a@example.com"),      excluded({ email: ["example.com"] }),     ["excluded"]],
  [uri("https://example.com/"), permitted({ uri: ["example.com"] }),      []],
  [uri("https://a.example.com/"), permitted({ uri: ["example.com"] }),    ["not permitted"]],
  [uri("https://a.example.com/"), permitted({ uri: [".example.com"] }),   []],
  [uri("https://192.0.2.1/"),   permitted({ uri: ["example.com"] }),      ["not decidable"]],
  [uri("urn:uuid:1"),           excluded({ uri: ["example.com"] }),       ["not decidable"]],
  [uri("https://example.com/"), excluded({ uri: ["example.com"] }),       ["excluded"]],
];

for (const [names, constraints, expected] of cases) {
  const side = Object.values(constraints.permitted).flat().length > 0 ? "permitted" : "excluded";
  const trees = Object.values(constraints[side]).flat();
  test(`${names[0]?.value} with ${side} ${trees} is ${expected[0] ?? "allowed"}`, () => {
    expect(why(names, [constraints])).toEqual(expected);
  });
}

test("a directory name must begin with the permitted one, without regard to case", () => {
  const base = encodeName([{ type: "O", value: "Example  Corp" }]).der;
  const inside = [
    { type: "O", value: "example corp" },
    { type: "CN", value: "x y" },
  ];
  const outside = [
    { type: "O", value: "Other" },
    { type: "CN", value: "x y" },
  ];
  expect(why([], [permitted({ dirNames: [base] })], inside)).toEqual([]);
  expect(why([], [permitted({ dirNames: [base] })], outside)).toEqual(["not permitted"]);
  expect(why([], [excluded({ dirNames: [base] })], inside)).toEqual(["excluded"]);
  expect(why([], [permitted({ dirNames: [base] })])).toEqual([]);
});

test("every certificate of the path constrains, not only the issuer", () => {
  const path = [permitted({ dns: ["example.com"] }), permitted({ dns: ["a.example.com"] })];
  expect(why(dns("a.example.com"), path)).toEqual([]);
  expect(why(dns("b.example.com"), path)).toEqual(["not permitted"]);
});

test("a common name that looks like a host name is constrained like one", () => {
  const path = [permitted({ dns: ["example.com"] })];
  const named = (value: string) => why([], path, [{ type: "CN", value }]);
  expect(named("evil.test")).toEqual(["not permitted"]);
  expect(named("a.example.com")).toEqual([]);
  expect(named("Jane Doe")).toEqual([]);
});

test("an e-mail attribute of the subject is constrained like a SAN", () => {
  const subject = [{ type: "emailAddress", value: "a@evil.test" }];
  expect(why([], [permitted({ email: ["example.com"] })], subject)).toEqual(["not permitted"]);
});

test("a subordinate may not claim what the path above it does not permit", () => {
  const path = [permitted({ dns: ["example.com"], ip: ["10.0.0.0/8"] })];
  const claim = permitted({ dns: ["a.example.com"], ip: ["10.1.0.0/16"] });
  expect(unpermittedSubtrees(claim, path)).toEqual([]);
  const tooMuch = permitted({ dns: ["example.org"], ip: ["0.0.0.0/0"] });
  expect(unpermittedSubtrees(tooMuch, path)).toEqual(["ip:0.0.0.0/0", "dns:example.org"]);
});

test("a profile's own names bind every kind, wildcards and common names too", () => {
  const policy = {
    ...new ProfileSet().named("server").names,
    ...{ permittedDns: ["example.com"], permittedIps: ["10.0.0.0/8"], allowWildcards: false },
    ...{ permittedUris: ["spiffe://td/"], permittedEmails: ["example.com"] },
  };
  const names = (sans: readonly GeneralName[]) =>
    profileViolations({ subject: encodeName([]), sans }, policy).map(({ name }) => name);
  const inside = [
    dns("a.example.com"),
    ip("10.0.0.1"),
    uri("spiffe://td/x"),
    email("a@example.com"),
  ];
  expect(names(inside.flat())).toEqual([]);
  const outside = [dns("a.test"), ip("192.0.2.1"), uri("spiffe://other/"), email("a@b.test")];
  expect(names(outside.flat())).toHaveLength(4);
  expect(names(dns("*.example.com"))).toEqual(["*.example.com"]);
});
