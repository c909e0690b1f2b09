/**
 * The index of subtrees says what going through them one by one says, and what a name costs does
 * not depend on their number.
 */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { pathViolations, unpermittedSubtrees } from "#core/policy/name-constraints.ts";
import { indexed, type SubtreeMatch, SubtreeIndex } from "#core/policy/subtree-index.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import type { Subtrees } from "#core/x509/name-constraints.ts";
import { encodeName } from "#core/x509/names.ts";
import {
  dnsTouches,
  dnsWithin,
  emailWithin,
  nameWithin,
  rangeWithin,
  treeWithin,
  uriWithin,
  type Within,
} from "#test/support/encodings/subtrees-one-by-one.ts";

const none: Subtrees = { dns: [], ip: [], email: [], uri: [], dirNames: [] };
const seen = (verdicts: readonly Within[]): SubtreeMatch => ({
  constrained: verdicts.length > 0,
  within: verdicts.includes(true),
  unclear: verdicts.includes(undefined),
});

const label = fc.constantFrom("a", "B", "test", "wildcard", "x-y", "", "_s", "8", "0x7f", "*");
const dotted = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));
const domain = fc.oneof(
  { weight: 8, arbitrary: dotted },
  { weight: 4, arbitrary: dotted.map((text) => `.${text}`) },
  { weight: 3, arbitrary: dotted.map((text) => `*.${text}`) },
  { weight: 1, arbitrary: fc.constantFrom("", ".", "..", "a..b", `${"a.".repeat(200)}test`) },
);
const mailbox = fc
  .tuple(fc.constantFrom("", "a", "A", "a b", "x@y"), domain)
  .map(([local, host]) => `${local}@${host}`);
const emailBase = fc.oneof(domain, mailbox);
const uri = fc.oneof(
  fc
    .tuple(fc.constantFrom("https://", "HTTPS://u@", "urn:", "https:"), domain)
    .chain(([scheme, host]) =>
      fc.constantFrom("", "/", ":8443/", "?q", "/a/../b").map((rest) => `${scheme}${host}${rest}`),
    ),
  domain,
);
const address = fc.oneof(
  fc.constantFrom("10.0.0.1", "10.1.0.0", "192.0.2.1", "2001:db8::1", "::", "::ffff:10.0.0.1", "x"),
  fc.tuple(fc.nat(255), fc.nat(3)).map(([a, b]) => `${a}.0.0.${b}`),
);
const range = fc
  .tuple(address, fc.constantFrom("0", "1", "8", "9", "24", "31", "32", "33", "64", "128", "08"))
  .map(([at, prefix]) => `${at}/${prefix}`);
const directoryName = fc
  .array(
    fc.record({
      type: fc.constantFrom("O", "CN"),
      value: fc.constantFrom("a", " A ", "b", "a\ue000", "ß", "ss"),
    }),
    { maxLength: 3 },
  )
  .map((attributes) => encodeName(attributes).der);
const some = <T>(one: fc.Arbitrary<T>) => fc.array(one, { maxLength: 6 });
const runs = { numRuns: 3000 };

describe("what is looked up is what going through all of them says", () => {
  test("of DNS names, permitted and excluded", () => {
    fc.assert(
      fc.property(domain, some(domain), (name, dns) => {
        const index = new SubtreeIndex({ ...none, dns });
        expect(index.ofDns(name, false)).toEqual(seen(dns.map((base) => dnsWithin(name, base))));
        expect(index.ofDns(name, true)).toEqual(seen(dns.map((base) => dnsTouches(name, base))));
      }),
      runs,
    );
  });

  test("of mailboxes and what is none", () => {
    fc.assert(
      fc.property(fc.oneof(mailbox, domain), some(emailBase), (name, email) => {
        const index = new SubtreeIndex({ ...none, email });
        expect(index.ofEmail(name)).toEqual(seen(email.map((base) => emailWithin(name, base))));
      }),
      runs,
    );
  });

  test("of URIs by their hosts", () => {
    fc.assert(
      fc.property(uri, some(domain), (name, bases) => {
        const index = new SubtreeIndex({ ...none, uri: bases });
        expect(index.ofUri(name)).toEqual(seen(bases.map((base) => uriWithin(name, base))));
      }),
      runs,
    );
  });

  test("of addresses and ranges of them", () => {
    fc.assert(
      fc.property(fc.oneof(address, range), some(fc.oneof(range, address)), (name, ip) => {
        const index = new SubtreeIndex({ ...none, ip });
        expect(index.ofIp(name)).toEqual(seen(ip.map((base) => rangeWithin(name, base))));
      }),
      runs,
    );
  });

  test("of directory names", () => {
    fc.assert(
      fc.property(directoryName, some(directoryName), (name, dirNames) => {
        const index = new SubtreeIndex({ ...none, dirNames });
        expect(index.ofDirName(name)).toEqual(seen(dirNames.map((base) => nameWithin(name, base))));
      }),
      runs,
    );
  });

  test("of subtrees within subtrees, of every kind", () => {
    const texts = { dns: domain, uri: domain, email: emailBase, ip: range };
    for (const [kind, one] of Object.entries(texts)) {
      const as = kind as keyof typeof texts; // A key of the table.
      fc.assert(
        fc.property(one, some(one), (tree, bases) => {
          const index = new SubtreeIndex({ ...none, [as]: bases });
          expect(index.ofTree(as, tree)).toEqual(
            seen(bases.map((base) => treeWithin(as, tree, base))),
          );
        }),
        runs,
      );
    }
    fc.assert(
      fc.property(directoryName, some(directoryName), (tree, dirNames) => {
        const index = new SubtreeIndex({ ...none, dirNames });
        expect(index.ofTree("dirName", tree)).toEqual(
          seen(dirNames.map((base) => treeWithin("dirName", tree, base))),
        );
      }),
      runs,
    );
  });
});

/** A list that counts how often any of its members is read. */
function counted<T>(members: readonly T[]) {
  let reads = 0;
  const list = new Proxy(members, {
    get(target, key, receiver) {
      if (typeof key === "string" && /^\d+$/.test(key)) reads++;
      return Reflect.get(target, key, receiver);
    },
  });
  return { list, reads: () => reads };
}

describe("a name costs what it is long", () => {
  const size = 10_000;
  const numbers = Array.from({ length: size }, (_, at) => at);
  const lists = {
    dns: counted(numbers.map((at) => `h${at}.example`)),
    email: counted(numbers.map((at) => `u${at}@h${at}.example`)),
    uri: counted(numbers.map((at) => `.h${at}.example`)),
    ip: counted(numbers.map((at) => `10.${at >> 8}.${at & 255}.0/24`)),
    dirNames: counted(numbers.map((at) => encodeName([{ type: "O", value: `o${at}` }]).der)),
  };
  const trees: Subtrees = {
    dns: lists.dns.list,
    email: lists.email.list,
    uri: lists.uri.list,
    ip: lists.ip.list,
    dirNames: lists.dirNames.list,
  };
  const reads = () => Object.values(lists).reduce((sum, list) => sum + list.reads(), 0);

  test("no subtree is looked at more than once, however many names are judged", () => {
    const constraints = indexed({ permitted: none, excluded: trees });
    const subject = encodeName([{ type: "O", value: "Example" }]);
    const judge = (at: number) => {
      const sans: readonly GeneralName[] = [
        { kind: "dns", value: `a.b.g${at}.example` },
        { kind: "email", value: `u@g${at}.example` },
        { kind: "uri", value: `https://g${at}.example/` },
        { kind: "ip", value: "192.0.2.1" },
      ];
      return pathViolations({ subject, sans, forServers: false }, [constraints]);
    };
    for (const at of numbers.slice(0, 200)) expect(judge(at)).toEqual([]);
    expect(reads()).toBe(5 * size);
    // And what lies in the last of them is found all the same.
    const last: readonly GeneralName[] = [{ kind: "dns", value: `x.h${size - 1}.example` }];
    const names = { subject: encodeName([]), sans: last, forServers: false };
    expect(pathViolations(names, [constraints])).toMatchObject([{ why: "excluded" }]);
  });

  test("nor is one for another subtree that is claimed below it", () => {
    const before = reads();
    const above = indexed({ permitted: trees, excluded: none });
    const claimed = numbers.slice(0, 1000).map((at) => `a.h${at}.example`);
    const claim = { permitted: { ...none, dns: claimed }, excluded: none };
    expect(unpermittedSubtrees(claim, [above])).toEqual([]);
    expect(reads() - before).toBe(size);
  });
});
