/** One example of what a schema describes, for the API description. */

import type { Json, Schema } from "#core/shape.ts";

/**
 * The schema's own first example, else one made from what it says: its first word, its smallest
 * number, a text of the least length, every member of an object. The fields themselves read it, or
 * have an example of their own; a test sees to that.
 */
export function exampleOf(schema: Schema): Json {
  const own = listAt(schema, "examples")[0] ?? schema.default ?? listAt(schema, "enum")[0];
  if (own !== undefined) return own as Json; // Schemas are JSON.
  const [alternative] = listAt(schema, "anyOf");
  if (alternative !== undefined) return exampleOf(alternative as Schema); // A schema, as declared.
  switch (schema.type) {
    case "object":
      return objectExample(schema);
    case "array": {
      const items = [...Array(Math.max(1, Number(schema.minItems ?? 1))).keys()];
      return items.map(() => exampleOf(schemaAt(schema, "items")));
    }
    case "integer":
    case "number":
      return Math.max(1, Number(schema.minimum ?? 0));
    case "boolean":
      return true;
    case "string":
      return textExample(schema);
    default:
      return {};
  }
}

function objectExample(schema: Schema): Json {
  const required = new Set(listAt(schema, "required"));
  const members = Object.entries(schemaAt(schema, "properties"))
    // What may be left out is, in the smallest thing that can be asked.
    .filter(([name]) => required.has(name) || required.size === 0)
    .map(([name, member]) => [name, exampleOf(member as Schema)] as const); // As above.
  return Object.fromEntries(members);
}

function textExample({ format, minLength }: Schema): string {
  const formatted = typeof format === "string" ? formats[format] : undefined;
  return formatted ?? "example".padEnd(Number(minLength ?? 0), ".");
}

const listAt = (schema: Schema, member: string): readonly unknown[] => {
  const value = schema[member];
  return Array.isArray(value) ? value : [];
};

const schemaAt = (schema: Schema, member: string): Schema =>
  // A schema, as declared.
  (schema[member] ?? {}) as Schema;

const formats: Readonly<Record<string, string>> = {
  "date-time": "2026-01-01T12:00:00.000000Z",
  date: "2026-01-01",
  uri: "https://pki.example.internal",
  hostname: "www.example.internal",
};
