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
  forServers = false,
) => pathViolations({ subject: encodeName(subject), sans, forServers }, path).map((v) => v.why);
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

test("a URI that is read in different ways cannot be decided", () => {
  const spellings = [
    "https://evil.test\\@ex.test/",
    "http://ex.test\\@victim.test/",
    "spiffe://ex%2etest/a",
    "https://ex.test./",
    "https:ex.test",
    "https:///ex.test",
    "https://127.1/",
    "https://ex.test?a",
    "https://ex.test#a",
  ];
  for (const spelling of spellings) {
    expect(why(uri(spelling), [permitted({ uri: ["ex.test"] })])).toEqual(["not decidable"]);
    expect(why(uri(spelling), [excluded({ uri: ["victim.test"] })])).toEqual(["not decidable"]);
  }
  // OpenSSL takes the user for the host.
  const user = uri("https://ex.test:a@evil.test/");
  expect(why(user, [permitted({ uri: ["ex.test"] })])).toEqual(["not decidable"]);
  expect(why(user, [permitted({ uri: ["evil.test"] })])).toEqual(["not decidable"]);
});

test("a profile's URIs are permitted by scheme, authority and the beginning of the path", () => {
  const allows = (prefix: string, name: string) => {
    const names = { ...new ProfileSet().named("server").names, permittedUris: [prefix] };
    const asked = { subject: encodeName([]), sans: uri(name), forServers: false };
    return profileViolations(asked, names).length === 0;
  };
  // biome-ignore format: the table is read by column.
  const table: readonly [prefix: string, name: string, allowed: boolean][] = [
    ["https://good.example",      "https://good.example/",            true],
    ["https://good.example",      "HTTPS://Good.Example/a",           true],
    ["https://good.example",      "https://good.example@evil.com/",   false],
    ["https://good.example",      "https://good.example.evil.com/",   false],
    ["https://good.example",      "https://good.example:8443/",       false],
    ["https://good.example",      "http://good.example/",             false],
    ["https://good.example",      "https://user@good.example/",       false],
    ["https://good.example:8443", "https://good.example:8443/",       true],
    ["https://good.example/a/",   "https://good.example/a/b",         true],
    ["https://good.example/a/",   "https://good.example/A/b",         false],
    ["https://good.example/a/",   "https://good.example/a/../b",      false],
    ["https://good.example/a/",   "https://good.example/a/%2e%2e/b",  false],
    ["spiffe://td/ns/",           "spiffe://td/ns/web",               true],
    ["spiffe://td/ns/",           "spiffe://td.evil/ns/web",          false],
    ["spiffe:",                   "spiffe://td/ns/web",               true],
    ["spiffe:",                   "https://td/",                      false],
    ["urn:example:",              "urn:example:1",                    true],
    ["urn:example:",              "urn:other:1",                      false],
    ["https://good.example",      "https:good.example",               false],
  ];
  for (const [prefix, name, allowed] of table) {
    expect({ prefix, name, allowed: allows(prefix, name) }).toEqual({ prefix, name, allowed });
  }
});

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

test("every common name is judged, wherever it stands", () => {
  const path = [permitted({ dns: ["good.example"] })];
  const subject = ["evil.test", "a.good.example"].map((value) => ({ type: "CN", value }));
  expect(why([], path, subject)).toEqual(["not permitted"]);
  expect(why([], path, subject.toReversed())).toEqual(["not permitted"]);
});

// biome-ignore format: the table is read by column.
const disguises: readonly [commonName: string, dns: NameViolation["why"][], ip: NameViolation["why"][]][] = [
  ["evil.test.",             ["not permitted"], []],
  [" evil.test",             ["not permitted"], []],
  ["\u00a0evil.test\u200b",  ["not permitted"], []],
  ["evil。test",             ["not permitted"], []],
  ["ｅvil.test",             ["not permitted"], []],
  ["localhost",              ["not permitted"], []],
  ["*.test",                 ["not permitted"], []],
  ["evil.test\0.good.example", ["not decidable"], ["not decidable"]],
  ["127.1",                  ["not decidable"], ["not decidable"]],
  ["a.0x7f000001",           ["not decidable"], ["not decidable"]],
  ["8.8.8.8.",               ["not permitted"], ["not permitted"]],
  ["[2001:db8::1]",          ["not permitted"], ["not permitted"]],
  ["intranet",               [],                []],
];

for (const [commonName, byDns, byIp] of disguises) {
  test(`a common name spelled ${JSON.stringify(commonName)} is the host it stands for`, () => {
    const subject = [{ type: "CN", value: commonName }];
    expect(why([], [permitted({ dns: ["good.example"] })], subject)).toEqual(byDns);
    expect(why([], [permitted({ ip: ["10.0.0.0/8"] })], subject)).toEqual(byIp);
  });
}

test("a single label is the host where TLS servers have no other name", () => {
  const path = [permitted({ dns: ["good.example"] })];
  const subject = [{ type: "CN", value: "intranet" }];
  expect(why([], path, subject, true)).toEqual(["not permitted"]);
  expect(why(dns("a.good.example"), path, subject, true)).toEqual([]);
  expect(why([], path, [{ type: "CN", value: "2130706433" }], true)).toEqual(["not decidable"]);
});

test("a DNS name that is an address to some cannot be decided, nor a star within a label", () => {
  for (const value of ["8.8.8.8", "127.1", "2130706433", "a.0x7f", "w*.good.example"]) {
    expect(why(dns(value), [permitted({ dns: ["good.example"] })])).toEqual(["not decidable"]);
    expect(why(dns(value), [excluded({ ip: ["10.0.0.0/8"] })])).toEqual(["not decidable"]);
  }
  expect(why(dns("evil.test."), [excluded({ dns: ["evil.test"] })])).toEqual(["excluded"]);
});

test("a profile's fence on hosts holds for every common name", () => {
  const names = { ...new ProfileSet().named("server").names, permittedDns: ["good.example"] };
  const found = (...values: readonly string[]) => {
    const subject = encodeName(values.map((value) => ({ type: "CN", value })));
    return profileViolations({ subject, sans: [], forServers: true }, names).length;
  };
  expect(found("a.good.example")).toBe(0);
  expect(found("evil.test", "a.good.example")).toBe(1);
  for (const alone of ["localhost", "intranet", "127.1", "evil.test\0.good.example"]) {
    expect({ alone, found: found(alone) }).toEqual({ alone, found: 1 });
  }
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

// biome-ignore format: the table is read by column.
const claims: readonly [kind: "dns" | "email" | "uri" | "ip", claimed: string, above: string, allowed: boolean][] = [
  ["dns",   "ex.test",       "ex.test",     true],
  ["dns",   ".ex.test",      ".ex.test",    true],
  ["dns",   ".ex.test",      "ex.test",     true],
  ["dns",   "ex.test",       ".ex.test",    false],
  ["dns",   "a.ex.test",     ".EX.test",    true],
  ["dns",   "aex.test",      "ex.test",     false],
  ["dns",   "test",          "ex.test",     false],
  ["dns",   "",              "ex.test",     false],
  ["dns",   "ex.test",       "",            true],
  ["email", "ex.test",       "ex.test",     true],
  ["email", ".ex.test",      "ex.test",     false],
  ["email", "ex.test",       ".ex.test",    false],
  ["email", "a.ex.test",     ".ex.test",    true],
  ["email", "me@ex.test",    "ex.test",     true],
  ["email", "me@ex.test",    "me@ex.test",  true],
  ["email", "ex.test",       "me@ex.test",  false],
  ["uri",   "a.ex.test",     "ex.test",     false],
  ["uri",   ".ex.test",      ".ex.test",    true],
  ["uri",   "a.ex.test",     ".ex.test",    true],
  ["ip",    "10.1.0.0/16",   "10.0.0.0/8",  true],
  ["ip",    "10.0.0.0/8",    "10.1.0.0/16", false],
  ["dns",   "ex.test",       "ex..test",    false],
];

for (const [kind, claimed, above, allowed] of claims) {
  test(`a child ${allowed ? "may" : "may not"} claim ${kind} ${claimed || "all"} below ${above || "all"}`, () => {
    const found = unpermittedSubtrees(permitted({ [kind]: [claimed] }), [
      permitted({ [kind]: [above] }),
    ]);
    expect(found).toEqual(allowed ? [] : [`${kind}:${claimed}`]);
  });
}

test("a child may claim around what is excluded above, and nothing within it", () => {
  const path = [excluded({ dns: ["evil.ex.test"], ip: ["10.1.0.0/16"] })];
  const of = (claim: Partial<Subtrees>) => unpermittedSubtrees(permitted(claim), path);
  expect(of({ dns: ["ex.test"], ip: ["10.0.0.0/8"] })).toEqual([]);
  expect(of({ dns: ["a.evil.ex.test"], ip: ["10.1.2.0/24"] })).toHaveLength(2);
});

test("a constraint that is spelled as none decides nothing, and so forbids", () => {
  for (const base of [".", "ex..test", "*.ex.test", "ex.test.", "8.8.8.8"]) {
    expect(why(dns("a.ex.test"), [excluded({ dns: [base] })])).toEqual(["not decidable"]);
    expect(why(uri("https://a.ex.test/"), [excluded({ uri: [base] })])).toEqual(["not decidable"]);
  }
  for (const base of ["@ex.test", "a@", "", "a@@ex.test", "ex..test"]) {
    expect(why(email("a@ex.test"), [excluded({ email: [base] })])).toEqual(["not decidable"]);
  }
});

test("a mailbox nobody reads alike cannot be decided", () => {
  for (const value of ["a@good.test@ex.test", "@ex.test", "ex.test", "a@ex.test.", "a@8.8.8.8"]) {
    expect(why(email(value), [excluded({ email: ["evil.test"] })])).toEqual(["not decidable"]);
  }
});

test("a profile's own names bind every kind, wildcards and common names too", () => {
  const policy = {
    ...new ProfileSet().named("server").names,
    permittedDns: ["example.com"],
    permittedIps: ["10.0.0.0/8"],
    allowWildcards: false,
    permittedUris: ["spiffe://td/"],
    permittedEmails: ["example.com"],
  };
  const names = (sans: readonly GeneralName[]) =>
    profileViolations({ subject: encodeName([]), sans, forServers: true }, policy).map(
      ({ name }) => name,
    );
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
