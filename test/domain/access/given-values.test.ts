/**
 * Members that come in one object are read and refused as JSON over HTTP is, by the place each of
 * them has there.
 */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { parseSerial } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import {
  type Fields,
  flag,
  integer,
  list,
  object,
  oneOf,
  optional,
  otherwise,
  parsed,
  shape,
  text,
} from "#core/shape.ts";
import { givenValues } from "#domain/access/given-values.ts";
import type { Given } from "#domain/access/given.ts";
import { type Mounted, mount } from "#domain/access/mounted.ts";
import { operation } from "#domain/access/operation.ts";
import { theCa } from "#domain/access/targets.ts";
import { givenJson } from "#http/given.ts";
import { type Operation, type OperationName, operationOf } from "#operations";

const serial = parsed({ type: "string" }, parseSerial);
const members = {
  serial,
  status: optional(oneOf(["good", "held"])),
  limit: otherwise(integer(1, 9), 5),
  short: optional(text({ min: 1, max: 3 })),
  force: otherwise(flag(), false),
};
const posted = mounted("cert.release", {
  ...members,
  days: integer(1, 5),
  items: optional(list(object({ ref: optional(text({ max: 2 })), serials: list(serial) }), 0, 3)),
});
const asked = mounted("cert.show", members);
const askedByPost = mounted("cert.release", members, { in: "query" });

const texts = fc.constantFrom("7", "0x1f", "-1", "x", "good", "held", "toolong", "", "5", "10");
const item = fc.record(
  { ref: fc.string({ maxLength: 3 }), serials: fc.array(texts, { maxLength: 2 }), more: fc.nat() },
  { requiredKeys: ["serials"] },
);
const body = fc.record(
  {
    status: fc.oneof(texts, fc.constantFrom(null, 1)),
    limit: fc.oneof(fc.nat(12), texts, fc.double()),
    short: fc.oneof(texts, fc.array(texts)),
    force: fc.oneof(fc.boolean(), fc.constantFrom("true", 1, null)),
    days: fc.oneof(fc.nat(6), texts),
    items: fc.oneof(fc.array(item, { maxLength: 4 }), fc.constantFrom("none", null, {})),
  },
  { requiredKeys: [] },
);
const path = fc.record({ id: texts, serial: texts });
const query = fc.record(
  { status: texts, limit: fc.nat(12), short: texts, force: fc.boolean() },
  { requiredKeys: [] },
);

test("what has a body: the same input, or the same refusal", async () => {
  await fc.assert(
    fc.asyncProperty(path, body, async (named, sent) => {
      const json = givenJson(posted, { path: named, query: none, headers, body: async () => sent });
      const values = givenValues(posted, { ...named, ...sent });
      expect(await saidOf(values)).toEqual(await saidOf(json));
      expect(values.named).toEqual(json.named);
      for (const member of ["id", "status", "items", "absent"]) {
        expect(await values.peek(member)).toEqual(await json.peek(member));
      }
    }),
    { numRuns: 1000 },
  );
});

test("what has a query, of a read or of a write: the same input, or the same refusal", async () => {
  await fc.assert(
    fc.asyncProperty(path, query, fc.constantFrom(asked, askedByPost), async (named, sent, one) => {
      const spelled = Object.entries(sent).map(([name, value]) => [name, String(value)]);
      const search = new URLSearchParams(spelled);
      const json = givenJson(one, {
        path: named,
        query: search,
        headers,
        body: async () => undefined,
      });
      expect(await saidOf(givenValues(one, { ...named, ...sent }))).toEqual(await saidOf(json));
    }),
    { numRuns: 1000 },
  );
});

test("each refusal names the place its member has", async () => {
  const refused = async (one: Mounted, values: object) =>
    await saidOf(givenValues(one, { ...values }));
  const own = { id: "a", serial: "7" };
  expect(await refused(posted, { ...own, days: 0 })).toMatchObject([
    "invalid_field",
    { field: "days" },
  ]);
  expect(await refused(posted, own)).toEqual(["missing_field", { field: "days" }]);
  expect(await refused(asked, { ...own, limit: 0 })).toMatchObject([
    "bad_query",
    { parameter: "limit" },
  ]);
  expect(await refused(askedByPost, { ...own, limit: 0 })).toMatchObject([
    "bad_query",
    { parameter: "limit" },
  ]);
  expect(await refused(posted, { id: "a", days: 1 })).toEqual([
    "missing_field",
    { field: "serial" },
  ]);
});

test("a member nobody knows is refused, whatever the object inherits", async () => {
  for (const stranger of ["more", "toString", "constructor", "__proto__"]) {
    const values = { id: "a", serial: "7", days: 1 };
    Object.defineProperty(values, stranger, { value: 1, enumerable: true });
    expect(await saidOf(givenValues(posted, values))).toEqual([
      "unknown_field",
      { field: stranger },
    ]);
  }
  const inherited = Object.assign(Object.create({ days: 1 }), { id: "a", serial: "7" });
  expect(await saidOf(givenValues(posted, inherited))).toEqual([
    "missing_field",
    { field: "days" },
  ]);
  expect(await givenValues(posted, inherited).peek("days")).toBeUndefined();
});

test("what a path cannot hold names nothing, and is refused where it is read", async () => {
  const values = givenValues(posted, { id: 7, serial: { a: 1 }, days: 1 });
  expect(values.named).toEqual({ id: undefined, serial: undefined });
  expect(await saidOf(values)).toMatchObject(["invalid_field", { field: "id" }]);
});

const none = new URLSearchParams();
const headers = new Headers();

/** The typed input, or code and facts of the refusal. */
async function saidOf(given: Given): Promise<unknown> {
  try {
    return { read: await given.read() };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return [error.code, error.facts];
  }
}

function mounted(name: OperationName, input: Fields, where: Pick<Operation, "in"> = {}): Mounted {
  const of = { summary: "Reads.", target: theCa, input, output: shape({}), run: async () => ({}) };
  return mount(name, { ...operationOf(name), ...where }, operation(of));
}
