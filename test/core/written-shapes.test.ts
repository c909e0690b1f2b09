/** What a shape has read it writes so that reading gives it back, whatever its kind. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { instantField, timeField } from "#api/fields.ts";
import { parseSerial } from "#core/ids.ts";
import {
  anything,
  decimal,
  either,
  type Field,
  flag,
  integer,
  type Json,
  list,
  many,
  mapOf,
  object,
  oneOf,
  optional,
  otherwise,
  parsed,
  readBody,
  readBodyInTurns,
  shape,
  text,
  words,
  writeMembers,
} from "#core/shape.ts";
import { parseFingerprint } from "#core/x509/public-keys.ts";

/** A shape, and values of which it reads most. */
interface Kind<T = unknown> {
  readonly field: Field<T>;
  readonly given: fc.Arbitrary<unknown>;
}
const kind = <T>(field: Field<T>, given: fc.Arbitrary<unknown>): Kind =>
  ({ field, given }) as Kind<never> as Kind; // Each is given only what it has read itself.

/** As the database gives it back. */
const stored = (written: unknown): Json => JSON.parse(JSON.stringify(written)) as Json; // JSON.

const digits = fc.constantFrom("1", "07", "0x1f", "1F:00", " 9", "0X2", "1".repeat(40), "x");
const hex = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((octets) => octets.toHex());
const fingerprints = fc.oneof(
  hex,
  hex.map((lower) => lower.toUpperCase()),
  hex.map((lower) => lower.replace(/..(?!$)/g, "$&:")),
  hex.map((lower) => `SHA256:${Uint8Array.fromHex(lower).toBase64()}`),
);
const two = (n: number) => String(n).padStart(2, "0");
const times = fc
  .record({
    year: fc.oneof(fc.constantFrom("0000", "0001", "1969", "9999"), fc.constant("2026")),
    month: fc.integer({ min: 1, max: 12 }).map(two),
    day: fc.integer({ min: 1, max: 31 }).map(two),
    hour: fc.integer({ min: 0, max: 24 }).map(two),
    fraction: fc.constantFrom("", ".1", ".123456", ".999999999"),
    zone: fc.constantFrom("Z", "+00:00", "-23:59", "+23:59", "+05:30"),
  })
  .map((t) => `${t.year}-${t.month}-${t.day}T${t.hour}:59:59${t.fraction}${t.zone}`);

/** Zero has one spelling in JSON. */
const unsignedZero = (n: number) => n + 0;

const parts = { ref: optional(text({ max: 3 })), days: otherwise(integer(1, 5), 2) };
const partsGiven = fc.record(
  { ref: fc.string({ maxLength: 4 }), days: fc.nat(6) },
  { requiredKeys: [] },
);
const serial = parsed({ type: "string" }, parseSerial);
const pair = parsed(
  { type: "string" },
  (given) => ({ left: given.split(":")[0] ?? "", right: given.split(":")[1] ?? "" }),
  ({ left, right }) => `${left}:${right}`,
);

const kinds: Readonly<Record<string, Kind>> = {
  text: kind(text({ min: 1, max: 5 }), fc.string({ unit: "binary", maxLength: 6 })),
  integer: kind(integer(-3, 9), fc.integer({ min: -5, max: 11 })),
  flag: kind(flag(), fc.boolean()),
  oneOf: kind(oneOf(["a", "b"]), fc.constantFrom("a", "b", "c")),
  words: kind(words(), fc.string()),
  decimal: kind(decimal(), fc.double().map(unsignedZero)),
  many: kind(many(serial), fc.array(digits)),
  list: kind(list(serial, 1, 4), fc.array(digits, { maxLength: 5 })),
  object: kind(object(parts), partsGiven),
  shape: kind(shape({ at: timeField, of: optional(object(parts)) }), fc.record({ at: times })),
  parsed: kind(serial, digits),
  "parsed and written": kind(pair, fc.string()),
  fingerprint: kind(parsed({ type: "string" }, parseFingerprint), fingerprints),
  time: kind(timeField, fc.oneof(times, fc.constantFrom("2026-02-30", "2026-11-22", "0000-01-01"))),
  instant: kind(instantField, times),
  mapOf: kind(
    mapOf(pair),
    fc.dictionary(fc.oneof(fc.string(), fc.constant("__proto__")), fc.string(), { maxKeys: 4 }),
  ),
  anything: kind(anything(), fc.jsonValue().map(stored)),
  either: kind(
    either(integer(0, 9), list(text({ max: 3 })), object(parts)),
    fc.oneof(fc.nat(10), fc.array(fc.string({ maxLength: 4 }), { maxLength: 3 }), partsGiven),
  ),
  optional: kind(optional(timeField), times),
  otherwise: kind(otherwise(list(pair), []), fc.array(fc.string(), { maxLength: 3 })),
  nested: kind(
    object({ lists: list(object({ serials: optional(list(serial)), pairs: mapOf(pair) })) }),
    fc.record({
      lists: fc.array(
        fc.record(
          { serials: fc.array(digits), pairs: fc.dictionary(fc.string(), fc.string()) },
          { requiredKeys: ["pairs"] },
        ),
        { maxLength: 3 },
      ),
    }),
  ),
};

test.each(Object.entries(kinds))("%s", (_, { field, given }) => {
  let taken = 0;
  fc.assert(
    fc.property(given, (value) => {
      const read = readOf(field, value);
      if (read === refused) return;
      taken += 1;
      const written = field.write(read.value);
      // It is JSON as it is stored, and written a second time it is the same.
      expect(field.read(stored(written))).toEqual(read.value);
      expect(field.write(field.read(stored(written)))).toEqual(written);
    }),
    { numRuns: 500 },
  );
  expect(taken).toBeGreaterThan(20);
});

const members = Object.fromEntries(Object.entries(kinds).map(([name, { field }]) => [name, field]));
const optionalMembers = Object.fromEntries(
  Object.entries(members).map(([name, field]) => [name, optional(field)]),
);

test("members that are absent are left out, and absent again; those with a default are written", async () => {
  const given = fc.record(
    Object.fromEntries(Object.entries(kinds).map(([name, one]) => [name, readable(one)])),
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(given, async (body) => {
      const read = readBody(optionalMembers, body);
      const written = writeMembers(optionalMembers, read);
      expect(Object.keys(written).sort()).toEqual(Object.keys(body).sort());
      expect(readBody(optionalMembers, stored(written))).toEqual(read);
      expect(await readBodyInTurns(optionalMembers, stored(written))).toEqual(read);
    }),
    { numRuns: 200 },
  );
  expect(writeMembers(parts, readBody(parts, {}))).toEqual({ days: 2 });
  expect(writeMembers({ at: optional(timeField) }, { at: undefined })).toEqual({});
});

test("a time that no year of four digits has in UTC cannot be written, and is not read", () => {
  for (const given of ["9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01"]) {
    for (const field of [timeField, instantField]) {
      expect(readOf(field, given)).toBe(refused);
      expect(field.read(given.slice(0, -6).concat("Z"))).toBeNumber();
    }
  }
});

test("of several spellings the canonical one is written", () => {
  const written = (field: Field<unknown>, given: Json) => field.write(field.read(given));
  expect(written(serial, "0x1f")).toBe("31");
  expect(written(timeField, "2026-11-22")).toBe("2026-11-22T00:00:00.000000Z");
  expect(written(instantField, "2026-11-22T12:00:00+02:00")).toBe("2026-11-22T10:00:00.000000Z");
  expect(written(pair, "a:b")).toBe("a:b");
});

/** Those that the shape reads. */
const readable = ({ field, given }: Kind) =>
  given.filter((value) => readOf(field, value) !== refused);

const refused = Symbol("refused");

function readOf(field: Field<unknown>, value: unknown): typeof refused | { value: unknown } {
  try {
    return { value: field.read(value) };
  } catch {
    return refused; // By whatever rule: only what is read is written.
  }
}
