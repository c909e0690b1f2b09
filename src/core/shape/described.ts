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
  if (schema.type === "integer") return `int${boundsText(schema)}`;
  if (schema.type === "number") return `number${boundsText(schema)}`;
  return schema.type === "boolean" ? "bool" : String(schema.type ?? "any");
}

/**
 * A value for example files and the description of the API, as it is written there: the one the
 * kind or its schema names, else one made from what the schema says, its first word, its smallest
 * number, a text of the least length, every member that must be there.
 */
export function sampleOf({ schema, sample, entry }: Described): unknown {
  const named =
    sample ?? listAt(schema, "examples")[0] ?? schema.default ?? listAt(schema, "enum")[0];
  if (named !== undefined) return named;
  const [alternative] = listAt(schema, "anyOf");
  if (alternative !== undefined) return sampleOf({ schema: asSchema(alternative) });
  switch (schema.type) {
    case "object":
      return membersSample(schema);
    case "array":
      return entriesSample(schema, entry ?? { schema: asSchema(schema.items) });
    case "integer":
    case "number":
      return Math.max(1, Number(schema.minimum ?? 1));
    case "boolean":
      return true;
    case "string":
      return formats[String(schema.format)] ?? "text".padEnd(Number(schema.minLength ?? 0), ".");
    default:
      return {};
  }
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

function membersSample(schema: Schema): unknown {
  const required = new Set(listAt(schema, "required"));
  const members = Object.entries(asSchema(schema.properties))
    // What may be left out is, in the smallest thing that can be asked.
    .filter(([name]) => required.has(name) || required.size === 0)
    .map(([name, member]) => [name, sampleOf({ schema: asSchema(member) })]);
  return Object.fromEntries(members);
}

/** None of mappings whose members are said elsewhere. */
function entriesSample({ minItems }: Schema, entry: Described): readonly unknown[] {
  const { type, properties } = entry.schema;
  const least = type === "object" && properties === undefined ? 0 : 1;
  return Array.from({ length: Math.max(least, Number(minItems ?? 0)) }, () => sampleOf(entry));
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

function boundsText({ minimum, maximum }: Schema): string {
  if (minimum === undefined) return "";
  return maximum === Number.MAX_SAFE_INTEGER ? ` ≥ ${minimum}` : ` ${minimum}..${maximum}`;
}

/** A type as it stands beside others: alternatives in parentheses. */
const grouped = (type: string): string => (type.includes("|") ? `(${type})` : type);

const listAt = (schema: Schema, member: string): readonly unknown[] => {
  const value = schema[member];
  return Array.isArray(value) ? value : [];
};

/** A schema within a schema, as it is declared; one that says nothing where there is none. */
const asSchema = (value: unknown): Schema => (value ?? {}) as Schema;

const formats: Readonly<Record<string, string>> = {
  "date-time": "2026-01-01T12:00:00.000000Z",
  date: "2026-01-01",
  uri: "https://pki.example.internal",
  hostname: "www.example.internal",
};
// No more digits than a number of JavaScript keeps.
const wholeNumber = /^-?\d{1,15}$/;
const decimalNumber = /^\d{1,12}(\.\d{1,6})?$/;
