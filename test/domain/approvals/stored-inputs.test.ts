/**
 * What is parked is what was asked: stored and read again, it is the same typed input, for every
 * operation that takes two.
 */

import { beforeAll, expect, test } from "bun:test";
import fc from "fast-check";

import { fourEyesGate } from "#api/four-eyes.ts";
import { extendedKeyUsages } from "#core/x509/extensions.ts";
import { defaultTenant } from "#core/ids.ts";
import { type Field, type Fields, type JsonObject, readBody, writeMembers } from "#core/shape.ts";
import { givenValues } from "#domain/access/given-values.ts";
import type { Mounted } from "#domain/access/mounted.ts";
import type { Authorized, Definition } from "#domain/access/operation.ts";
import { Outcome } from "#domain/access/outcome.ts";
import type { Perform } from "#domain/access/perform.ts";
import { type OperationName, operationOf, operations } from "#operations";
import { tenant } from "#test/support/stores/records.ts";
import { callOf, mountedAs, openPipeline } from "#test/support/worlds/asking.ts";
import { describedCatalog } from "#test/support/worlds/described-catalog.ts";
import { initRoot, issuanceWorld, rootOrigin } from "#test/support/worlds/issuance.ts";

const catalog = describedCatalog();
const guarded = (Object.keys(operations) as OperationName[]) // The table's own keys.
  .filter((name) => operationOf(name).takesTwo !== undefined);
const world = issuanceWorld();
let ca: string;
beforeAll(async () => {
  await world.store.atomically((tx) => tx.tenants.insert(tenant("web")));
  ca = (await initRoot(world)).id;
});

test.each(guarded)("%s: what its members read is read again from what is stored", (name) => {
  const { members } = mountedOf(name);
  fc.assert(
    fc.property(recordOf(members), (given) => {
      const read = readBody(members, given);
      expect(readBody(members, stored(writeMembers(members, read)))).toEqual(read);
    }),
    { numRuns: 200 },
  );
});

test.each(guarded)("%s: a parked call is done with the input it was made with", async (name) => {
  const { definition, path, body = {} } = mountedOf(name);
  const runs: Run[] = [];
  const mounted = mountedAs(name, noting(definition, runs));
  const parked: JsonObject[] = [];
  const parking = openPipeline({ ...world, gate: gateInto(parked) });
  const doing = openPipeline(world);
  await fc.assert(
    fc.asyncProperty(recordOf(path), recordOf(body), async (named, sent) => {
      const fitting = Object.hasOwn(path, "id") ? { ...named, id: ca } : named;
      runs.length = 0;
      parked.length = 0;
      const call = () =>
        callOf(mounted, { origin: rootOrigin, path: texts(fitting), body: async () => sent });
      const asked = async (perform: Perform) => await perform(call());
      expect((await asked(parking)).kind).toBe("parked");
      expect(runs).toEqual([]);
      await asked(doing);
      const [input] = parked;
      const approval = { id: "apr_1", keepSecret: async () => async () => {} };
      await parking({
        operation: mounted,
        origin: { ...rootOrigin, approval },
        given: givenValues(mounted, stored(input ?? {})),
      });
      const [atOnce, replayed] = runs;
      // What is said of a tenant is stored as the tenant that was meant.
      expect(replayed).toEqual(atOnce as Run);
      expect(parked).toHaveLength(1);
    }),
    { numRuns: 60 },
  );
});

test("every operation that takes two is tried", () => {
  expect(guarded.length).toBe(14);
});

/** What an operation was run with. */
interface Run {
  readonly input: Readonly<Record<string, unknown>>;
  readonly ca: unknown;
  readonly tenant: unknown;
}

/** The definition, whose action and description do nothing but tell. */
function noting(definition: Definition, runs: Run[]): Definition {
  return {
    ...definition,
    parks: async () => ({
      resourceKey: "r",
      resourceName: "r",
      summary: "s",
      details: {},
      check: async () => undefined,
    }),
    run: async (call: Authorized<Readonly<Record<string, unknown>>> & Partial<Run>) => {
      const { tenant: _alias, tenant_id: _named, ...input } = call.input;
      const isOfTenant = "tenant_id" in call.input;
      runs.push({ input: isOfTenant ? input : call.input, ca: call.ca, tenant: call.tenant });
      return {};
    },
  };
}

/** The gate of an instance, whose requests are kept here. */
function gateInto(parked: JsonObject[]) {
  const fourEyes = {
    guards: () => true,
    park: async (_: unknown, { input }: { readonly input: JsonObject }) => {
      parked.push(input);
      throw new Parked();
    },
  };
  // What else a gate may ask is not asked before it has parked.
  const gate = fourEyesGate({ store: world.store, fourEyes: fourEyes as never });
  return async (call: Parameters<typeof gate>[0]) => {
    try {
      return await gate(call);
    } catch (error) {
      if (error instanceof Parked) return new Outcome("parked", {});
      throw error;
    }
  };
}

class Parked extends Error {}

function mountedOf(name: OperationName): Mounted {
  const mounted = catalog.mounted(name);
  if (mounted === undefined) throw new Error(`${name} has no definition`);
  return mounted;
}

/** As the database gives it back. */
function stored(input: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(input)) as JsonObject; // Just written.
}

const texts = (named: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(named).map(([name, value]) => [name, String(value)]));

/** Bodies that the members read; those that may be absent sometimes are. */
function recordOf(members: Fields): fc.Arbitrary<Record<string, unknown>> {
  const required = Object.keys(members).filter((name) => members[name]?.optional !== true);
  const one = ([name, field]: [string, Field<unknown>]) =>
    [name, givenFor(name, field.schema).filter((value) => reads(field, value))] as const;
  const model = Object.fromEntries(Object.entries(members).map(one));
  return fc.record(model, { requiredKeys: required });
}

/** Values of a member of this name and schema, most of which its field reads. */
function givenFor(name: string, schema: Field<unknown>["schema"]): fc.Arbitrary<unknown> {
  const pool = pools[name];
  const { type, enum: words, items, properties, minItems, maxItems, minimum, maximum } = schema;
  if (Array.isArray(words)) return fc.constantFrom(...words);
  switch (type) {
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer({ min: Number(minimum), max: Number(maximum) });
    case "array": {
      const most = Math.min(Number(maxItems ?? 3), 3);
      const entry = givenFor(name, Object(items));
      return fc.array(entry, { minLength: Number(minItems ?? 0), maxLength: most });
    }
    case "object": {
      const parts = Object.entries<Field<unknown>["schema"]>(Object(properties));
      const model = parts.map(([part, its]) => [part, givenFor(part, its)] as const);
      const requiredKeys = Array.isArray(schema.required) ? schema.required : [];
      return fc.record(Object.fromEntries(model), { requiredKeys });
    }
    default:
      return pool === undefined ? textOf(schema) : fc.constantFrom(...pool);
  }
}

function textOf({ pattern, minLength, maxLength }: Field<unknown>["schema"]) {
  if (typeof pattern === "string") return fc.stringMatching(new RegExp(pattern));
  const most = Math.min(Number(maxLength ?? 20), 20);
  return fc.string({ minLength: Number(minLength ?? 0), maxLength: most });
}

const times = ["2026-11-22", "2026-11-22T12:00:00.5+02:00", "9999-12-31T23:59:59Z"];
/** Texts that are more than text, in several spellings. */
const pools: Readonly<Record<string, readonly string[]>> = {
  serial: ["7", "0x1F", "123456789012345678901234567890"],
  serials: ["7", "0x1F", "12:34:ab", "123456789012345678901234567890"],
  public_key_sha256: ["AB".repeat(32), "ab:".repeat(31).concat("ab"), `SHA256:${"A".repeat(43)}`],
  pattern: ["*.example", "a[bc]?", "x"],
  issued_after: times,
  issued_before: times,
  expires_at: times,
  expiry: times,
  start: times,
  until: times,
  tenant: ["web"],
  tenant_id: ["web", defaultTenant],
  dns: ["good.example", ".Below.example"],
  ip: ["10.0.0.0/8", "2001:db8::/32"],
  email: ["good.example", "a@good.example"],
  uri: ["good.example", ".good.example"],
  oids: ["1.2.3.4", "2.5.29.32.0"],
  mappings: ["1.2.3.4:1.2.3.5"],
  ext_key_usages: [...Object.keys(extendedKeyUsages), "1.3.6.1.4.1.99999.1"],
};

function reads(field: Field<unknown>, value: unknown): boolean {
  try {
    field.read(value);
    return true;
  } catch {
    return false; // By whatever rule: what is refused is never parked.
  }
}
