/** The examples of the description are what its own shapes read. */

import { describe, expect, test } from "bun:test";

import { objectSchema, readBody } from "#core/shape.ts";
import { sampleOf } from "#core/shape/described.ts";
import { shapeOf } from "#http/openapi.ts";
import { describedCatalog } from "#test/support/worlds/described-catalog.ts";

const entries = [...describedCatalog().entries];

describe("the example", () => {
  const asked = entries.filter(([, entry]) => shapeOf(entry).body !== undefined);
  test.each(asked)("of what %s is asked is read by its shape", (_name, entry) => {
    const body = shapeOf(entry).body ?? {};
    expect(() => readBody(body, sampleOf({ schema: objectSchema(body) }))).not.toThrow();
  });

  const answered = entries.filter(([, entry]) => shapeOf(entry).output !== undefined);
  test.each(answered)("of what %s answers is read by its shape", (_name, entry) => {
    const { output } = shapeOf(entry);
    expect(() => output?.read(sampleOf(output))).not.toThrow();
  });
});
