/**
 * The canonical input: complete, the same for the same call, and another one for every difference.
 */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { fingerprintOf } from "#core/approvals/input.ts";
import {
  flag,
  integer,
  type JsonObject,
  optional,
  otherwise,
  readBody,
  text,
  writeMembers,
} from "#core/shape.ts";

const about = {
  operationClass: "ca.create",
  operation: "ca.init_root",
  resourceKey: "ca:new:a",
  tenant: "default",
};
const printOf = (body: JsonObject, more: Partial<typeof about> = {}) =>
  fingerprintOf({ ...about, ...more, input: body });

test("members that were not given have their defaults, and no others appear", () => {
  const fields = {
    csr: text(),
    profile: otherwise(text(), "server"),
    days: optional(integer(1, 9)),
    force: otherwise(flag(), false),
  };
  const complete = (given: object) => writeMembers(fields, readBody(fields, given));
  expect(complete({ csr: "x" })).toEqual({ csr: "x", profile: "server", force: false });
  const given = { csr: "x", profile: "client", days: 3, force: true };
  expect(complete(given)).toEqual(given);
});

test("the order of members says nothing, every value does", () => {
  const body = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 6 });
  fc.assert(
    fc.property(body, body, (one, other) => {
      const [first, second] = [one, other] as readonly JsonObject[]; // JSON, as generated.
      if (first === undefined || second === undefined) return;
      const turned = Object.fromEntries(Object.entries(first).toReversed());
      expect(printOf(turned)).toBe(printOf(first));
      const same = Bun.deepEquals(JSON.parse(JSON.stringify([first])), [second], true);
      expect(printOf(first) === printOf(second)).toBe(same);
    }),
  );
});

test("two requests that differ in one bit, one class, one resource or one tenant differ", () => {
  const prints = [
    printOf({ csr: "MIIB" }),
    printOf({ csr: "MIIC" }),
    printOf({ csr: "MIIB" }, { operationClass: "cert.issue" }),
    printOf({ csr: "MIIB" }, { operation: "cert.renew" }),
    printOf({ csr: "MIIB" }, { resourceKey: "ca:new:b" }),
    printOf({ csr: "MIIB" }, { tenant: "web" }),
  ];
  expect(new Set(prints).size).toBe(prints.length);
});
