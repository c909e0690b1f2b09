/**
 * What a kind of values says of itself: its JSON Schema, what people call it, a sample, and what a
 * text means where everything is given as text.
 */

/** A JSON Schema (2020-12, as OpenAPI 3.1 has it). */
export type Schema = Readonly<Record<string, unknown>>;

/** Every kind of values is one; the optional members say what a schema cannot. */
export interface Described {
  readonly schema: Schema;
  /** What people call it: `URL`, `duration`. */
  readonly name?: string;
  /** A value as it is written. */
  readonly sample?: unknown;
  /** What each entry of a list or mapping is. */
  readonly entry?: Described;
}

/** The type as reference pages print it: `int 1..5`, `a | b`, `URL[]`, `name → bool`. */
export function typeText({ schema, name, entry }: Described): string {
  if (name !== undefined) return name;
  if (entry !== undefined) {
    const inner = grouped(typeText(entry));
    return schema.type === "array" ? `${inner}[]` : `name → ${inner}`;
  }
  if (Array.isArray(schema.enum)) return schema.enum.join(" | ");
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.MAX_SAFE_INTEGER } = schema;
  const least = maximum === Number.MAX_SAFE_INTEGER ? `≥ ${minimum}` : `${minimum}..${maximum}`;
  if (schema.type === "integer") return `int ${least}`;
  if (schema.type === "number") return `number ${least}`;
  return schema.type === "boolean" ? "bool" : String(schema.type ?? "any");
}

/** A value that example files may carry, as it is written there. */
export function sampleOf({ schema, sample, entry }: Described): unknown {
  if (sample !== undefined) return sample;
  if (schema.type === "array") {
    return entry === undefined || isStructured(entry) ? [] : [sampleOf(entry)];
  }
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (schema.type === "integer" || schema.type === "number") {
    return Math.max(Number(schema.minimum ?? 1), 1);
  }
  if (schema.type === "boolean") return true;
  return schema.type === "string" ? "text" : {};
}

/**
 * The raw value that the text of a query parameter or environment variable stands for: numbers and
 * booleans as they are written in JSON, lists of scalars separated by commas or as JSON, structures
 * as JSON. A text that is none of it is given back, for the kind to refuse.
 */
export function rawOf(described: Described, text: string): unknown {
  const { schema, entry } = described;
  if (schema.type === "integer") return wholeNumber.test(text) ? Number(text) : text;
  if (schema.type === "number") return decimalNumber.test(text) ? Number(text) : text;
  if (schema.type === "boolean") return text === "true" || (text === "false" ? false : text);
  if (schema.type !== "array") return isStructured(described) ? jsonOf(text) : text;
  if (entry === undefined || isStructured(entry) || text.trimStart().startsWith("[")) {
    return jsonOf(text);
  }
  return text.trim() === "" ? [] : text.split(",").map((part) => rawOf(entry, part.trim()));
}

/** Mappings, and what only a reference describes. */
const isStructured = ({ schema }: Described): boolean =>
  schema.type === "object" || schema.type === "array" || schema.$ref !== undefined;

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // The kind has its own words for a text where a structure is due.
  }
}

/** A type as it stands beside others: alternatives in parentheses. */
const grouped = (type: string): string => (type.includes("|") ? `(${type})` : type);

// No more digits than a number of JavaScript keeps.
const wholeNumber = /^-?\d{1,15}$/;
const decimalNumber = /^\d{1,12}(\.\d{1,6})?$/;
