/** A checker of JSON Schema, as far as the kit writes them, that knows nothing of the kit. */

import type { Schema } from "#core/shape/described.ts";

/** True when the schema (JSON Schema 2020-12) accepts the JSON value. */
export function accepts(schema: Schema, value: unknown): boolean {
  const { anyOf, enum: allowed, type } = schema;
  if (Array.isArray(anyOf)) return anyOf.some((one: Schema) => accepts(one, value));
  if (Array.isArray(allowed) && !allowed.includes(value)) return false;
  switch (type) {
    case undefined:
      return true;
    case "boolean":
      return typeof value === "boolean";
    case "integer":
      return Number.isInteger(value) && inRange(schema, Number(value));
    case "number":
      return typeof value === "number" && inRange(schema, value);
    case "string":
      return typeof value === "string" && isText(schema, value);
    case "array":
      return Array.isArray(value) && isList(schema, value);
    case "object":
      return typeof value === "object" && value !== null && isMapping(schema, value);
    default:
      throw new Error(`no type of JSON Schema: ${String(type)}`);
  }
}

const inRange = (schema: Schema, value: number): boolean =>
  value >= Number(schema.minimum ?? Number.NEGATIVE_INFINITY) &&
  value <= Number(schema.maximum ?? Number.POSITIVE_INFINITY);

function isText(schema: Schema, value: string): boolean {
  const { pattern } = schema;
  if (typeof pattern === "string" && !new RegExp(pattern, "u").test(value)) return false;
  return within(value.length, schema.minLength, schema.maxLength);
}

function isList(schema: Schema, value: readonly unknown[]): boolean {
  const items = schema.items as Schema; // The kit always says what items are.
  return (
    within(value.length, schema.minItems, schema.maxItems) &&
    value.every((item) => accepts(items, item))
  );
}

function isMapping(schema: Schema, value: object): boolean {
  if (Array.isArray(value)) return false;
  const properties = (schema.properties ?? {}) as Readonly<Record<string, Schema>>; // As declared.
  const required = (schema.required ?? []) as readonly string[]; // As declared.
  if (!required.every((name) => Object.hasOwn(value, name))) return false;
  return Object.entries(value).every(([name, member]) => {
    const own = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
    if (typeof own === "boolean" || own === undefined) return own !== false;
    return accepts(own as Schema, member); // A schema, being no boolean.
  });
}

const within = (count: number, least: unknown, most: unknown): boolean =>
  count >= Number(least ?? 0) && count <= Number(most ?? Number.POSITIVE_INFINITY);
