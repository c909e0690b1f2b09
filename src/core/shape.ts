/**
 * Shapes of what is asked and answered: strict reading with one named refusal each, writing back,
 * and their JSON Schema.
 */

import { Problem, refuse } from "./problems.ts";
import { mapInTurns } from "./turns.ts";

/** Reads and writes one member; `schema` describes it for /openapi.json. */
export interface Field<T> {
  readonly optional: boolean;
  /** Taken when an optional member is absent. */
  readonly fallback?: T;
  readonly schema: Schema;
  /** Gives the value, or throws the sentence of what is wrong as `WrongValue`. */
  read(value: unknown): T;
  /** The plain JSON that reads as the value: of several spellings the canonical one. */
  write(value: T): Json;
  /** As `read`, a few hundred entries in each turn; absent where a value is never long. */
  readInTurns?(value: unknown): Promise<T>;
}

/** A JSON Schema (2020-12, as OpenAPI 3.1 has it). */
export type Schema = Readonly<Record<string, unknown>>;

/** Plain JSON. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export type JsonObject = { readonly [member: string]: Json };

export type Fields = Readonly<Record<string, Field<unknown>>>;
/** What the field reads, and what an answer of this shape is. */
export type ValueOf<F> = F extends Field<infer T> ? T : never;

/** What reading gives: every member, undefined where an optional one is absent. */
export type Input<F extends Fields> = { readonly [K in keyof F]: ValueOf<F[K]> };

/** What an answer holds: optional members may be left out. */
export type Output<F extends Fields> = {
  readonly [K in keyof F as undefined extends ValueOf<F[K]> ? never : K]: ValueOf<F[K]>;
} & {
  readonly [K in keyof F as undefined extends ValueOf<F[K]> ? K : never]?: ValueOf<F[K]>;
};

/** What a field throws: the reason a value is refused, as a short phrase. */
export class WrongValue extends Error {}

/** Text of `min`..`max` characters, optionally matching `pattern`. */
export function text(
  options: { min?: number; max?: number; pattern?: RegExp; example?: string } = {},
): Field<string> {
  const { min = 0, max = 4096, pattern, example } = options;
  const schema = {
    type: "string",
    minLength: min,
    maxLength: max,
    ...(pattern ? { pattern: pattern.source } : {}),
    ...(example === undefined ? {} : { examples: [example] }),
  };
  return field(schema, (value) => {
    if (typeof value !== "string") throw new WrongValue("must be a string");
    if (value.length < min) throw new WrongValue(`must have at least ${min} characters`);
    if (value.length > max) throw new WrongValue(`must have at most ${max} characters`);
    // RFC 7493 §2.1 for surrogates; neither they nor NUL survive every database and every log.
    if (!value.isWellFormed() || value.includes("\0")) {
      throw new WrongValue("must be Unicode text without NUL");
    }
    if (pattern && !pattern.test(value)) throw new WrongValue(`must match ${pattern.source}`);
    return value;
  });
}

/** A whole number within bounds. */
export function integer(min: number, max: number): Field<number> {
  return field({ type: "integer", minimum: min, maximum: max }, (value) => {
    if (typeof value !== "number" || !Number.isSafeInteger(value)) {
      throw new WrongValue("must be an integer");
    }
    if (value < min || value > max) throw new WrongValue(`must be within ${min}..${max}`);
    return value;
  });
}

/** `true` or `false`. */
export function flag(): Field<boolean> {
  return field({ type: "boolean" }, (value) => {
    if (typeof value !== "boolean") throw new WrongValue("must be true or false");
    return value;
  });
}

/** One of the words given. */
export function oneOf<const W extends string>(words: readonly W[]): Field<W> {
  return field({ type: "string", enum: words }, (value) => {
    const word = words.find((candidate) => candidate === value);
    if (word === undefined) throw new WrongValue(`must be one of ${words.join(", ")}`);
    return word;
  });
}

/** What is answered as text: of any length, any characters. */
export const words = (schema: Schema = {}): Field<string> =>
  field({ type: "string", ...schema }, (value) => {
    if (typeof value !== "string") throw new WrongValue("must be a string");
    return value;
  });

/** A number that may have a fraction. */
export const decimal = (): Field<number> =>
  field({ type: "number" }, (value) => {
    if (typeof value !== "number" || !Number.isFinite(value)) {
      throw new WrongValue("must be a number");
    }
    return value;
  });

/** A list of any length, as answers have them. */
export const many = <T>(item: Field<T>): Field<readonly T[]> => {
  const { schema, ...rest } = list(item, 0, Number.MAX_SAFE_INTEGER);
  return { ...rest, schema: { type: schema.type, items: schema.items } };
};

/** A list of at most `max` items. */
export function list<T>(item: Field<T>, min = 0, max = 100): Field<readonly T[]> {
  const schema = { type: "array", items: item.schema, minItems: min, maxItems: max };
  const entries = (value: unknown): readonly unknown[] => {
    if (!Array.isArray(value)) throw new WrongValue("must be a list");
    if (value.length < min) throw new WrongValue(`must have at least ${min} items`);
    if (value.length > max) throw new WrongValue(`must have at most ${max} items`);
    return value;
  };
  return {
    ...field(schema, (value) => entries(value).map((entry) => item.read(entry))),
    write: (values) => values.map((value) => item.write(value)),
    readInTurns: async (value) =>
      mapInTurns(entries(value), entriesPerTurn, (entry) => item.read(entry)),
  };
}

/** An object with exactly these members. */
export function object<const F extends Fields>(fields: F): Field<Input<F>> {
  return {
    ...field(objectSchema(fields), (value) => readObject(fields, value, "")),
    write: (value) => writeMembers(fields, value),
    readInTurns: async (value) => readBodyInTurns(fields, value),
  };
}

/** The same for answers, which leave optional members out. */
export const shape = <const F extends Fields>(fields: F): Field<Output<F>> =>
  object(fields) as unknown as Field<Output<F>>; // Absent members are undefined once read.

/** A text read by a function that throws a `Problem` or a `WrongValue`. */
export function parsed<T extends string>(schema: Schema, read: (text: string) => T): Field<T>;
/** The same for what is no text itself, and is written by another function. */
export function parsed<T>(
  schema: Schema,
  read: (text: string) => T,
  write: (value: T) => Json,
): Field<T>;
/** As above. */
export function parsed<T>(
  schema: Schema,
  read: (text: string) => T,
  write: (value: T) => Json = asItIs,
): Field<T> {
  const reading = (value: unknown) => {
    if (typeof value !== "string") throw new WrongValue("must be a string");
    return read(value);
  };
  return { ...field(schema, reading), write };
}

/** A mapping from names to values of one kind. */
export function mapOf<T>(value: Field<T>): Field<Readonly<Record<string, T>>> {
  const schema = { type: "object", additionalProperties: value.schema };
  const reading = (given: unknown) => {
    if (!isObject(given)) throw new WrongValue("must be an object");
    return Object.fromEntries(Object.entries(given).map(([name, one]) => [name, value.read(one)]));
  };
  return {
    ...field(schema, reading),
    write: (values) =>
      Object.fromEntries(Object.entries(values).map(([name, one]) => [name, value.write(one)])),
  };
}

/** Any JSON, as it is: what somebody else has shaped. */
export const anything = (schema: Schema = {}): Field<Json> =>
  field(schema, (value) => value as Json); // Bodies and answers are JSON.

/** One of several shapes; the first that reads the value is taken. */
export function either<const A extends readonly Field<unknown>[]>(
  ...shapes: A
): Field<ValueOf<A[number]>> {
  const reading = (value: unknown): ValueOf<A[number]> => {
    for (const one of shapes) {
      try {
        return one.read(value) as ValueOf<A[number]>; // By one of them.
      } catch (error) {
        if (error instanceof WrongValue || error instanceof Problem) continue;
        throw error;
      }
    }
    throw new WrongValue("must have one of the shapes described");
  };
  return field({ anyOf: shapes.map(({ schema }) => schema) }, reading);
}

/** The member may be absent, and is then undefined. */
export function optional<T>(inner: Field<T>): Field<T | undefined> {
  const { schema, read, write, readInTurns } = inner;
  return {
    optional: true,
    schema,
    read,
    write: (value) => (value === undefined ? null : write(value)),
    ...(readInTurns && { readInTurns }),
  };
}

/** The member may be absent, and is then `fallback`. */
export function otherwise<T>(inner: Field<T>, fallback: T): Field<T> {
  const { schema, read, write, readInTurns } = inner;
  return {
    optional: true,
    fallback,
    schema: { ...schema, default: fallback },
    read,
    write,
    ...(readInTurns && { readInTurns }),
  };
}

/** The members as JSON, those without value left out: reading it gives them back. */
export function writeMembers<F extends Fields>(fields: F, values: Input<F>): JsonObject {
  const members = Object.entries(fields).flatMap(([name, member]): [string, Json][] => {
    const value = values[name];
    return value === undefined ? [] : [[name, member.write(value)]];
  });
  return Object.fromEntries(members);
}

/**
 * Reads a JSON body. Refuses `unknown_field`, `missing_field`, `invalid_field`; `null` is a wrong
 * type, not "absent".
 */
export function readBody<const F extends Fields>(fields: F, body: unknown): Input<F> {
  return readObject(fields, body, "");
}

/** As `readBody`, with a turn for others wherever a list is long. */
export async function readBodyInTurns<const F extends Fields>(
  fields: F,
  body: unknown,
): Promise<Input<F>> {
  const out: Record<string, unknown> = {};
  for (const { name, member, given } of membersOf(fields, body, "")) {
    if (given === undefined) out[name] = member.fallback;
    else if (member.readInTurns === undefined) out[name] = readMember(member, name, given);
    else out[name] = await member.readInTurns(given).catch((error) => wrongMember(name, error));
  }
  return out as Input<F>; // Every member was read by its own field.
}

/**
 * Reads query parameters; numbers and booleans are given as text. Refuses `bad_query`, and
 * `unknown_parameter` for a parameter that is not a member or is given twice.
 */
export function readQuery<const F extends Fields>(fields: F, query: URLSearchParams): Input<F> {
  const out: Record<string, unknown> = {};
  for (const parameter of new Set(query.keys())) {
    if (!Object.hasOwn(fields, parameter))
      throw refuse("unknown_parameter", { parameter: clipped(parameter) });
    if (query.getAll(parameter).length > 1) throw badQuery(parameter, "is given twice");
  }
  for (const [parameter, member] of Object.entries(fields)) {
    const raw = query.get(parameter);
    if (raw !== null) out[parameter] = readParameter(member, parameter, fromText(member, raw));
    else if (member.optional) out[parameter] = member.fallback;
    else throw badQuery(parameter, "is missing");
  }
  return out as Input<F>; // Every member was read by its own field.
}

/**
 * Reads the same from values that are no text, as messages and stored requests have them. Refuses
 * `bad_query`.
 */
export function readParameters<const F extends Fields>(
  fields: F,
  given: Readonly<Record<string, unknown>>,
): Input<F> {
  const out: Record<string, unknown> = {};
  for (const [parameter, member] of Object.entries(fields)) {
    const value = Object.hasOwn(given, parameter) ? given[parameter] : undefined;
    if (value !== undefined) out[parameter] = readParameter(member, parameter, value);
    else if (member.optional) out[parameter] = member.fallback;
    else throw badQuery(parameter, "is missing");
  }
  return out as Input<F>; // Every member was read by its own field.
}

/** JSON Schema of an object with these members. */
export function objectSchema(fields: Fields): Readonly<Record<string, unknown>> {
  const required = Object.keys(fields).filter((name) => fields[name]?.optional === false);
  return {
    type: "object",
    properties: Object.fromEntries(Object.entries(fields).map(([name, f]) => [name, f.schema])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
}

function readObject<F extends Fields>(fields: F, value: unknown, path: string): Input<F> {
  const out: Record<string, unknown> = {};
  for (const { name, member, given } of membersOf(fields, value, path)) {
    out[name] = given === undefined ? member.fallback : readMember(member, path + name, given);
  }
  return out as Input<F>; // Every member was read by its own field.
}

/** What an object gives for each of the fields; undefined for an optional one only. */
function* membersOf(fields: Fields, value: unknown, path: string) {
  if (!isObject(value)) {
    throw refuse("invalid_field", { field: path, reason: "must be an object" });
  }
  const members = value;
  for (const name of Object.keys(members)) {
    if (!Object.hasOwn(fields, name))
      throw refuse("unknown_field", { field: clipped(path + name) });
  }
  for (const [name, member] of Object.entries(fields)) {
    const given = Object.hasOwn(members, name) ? members[name] : undefined;
    if (given === undefined && !member.optional) {
      throw refuse("missing_field", { field: path + name });
    }
    yield { name, member, given };
  }
}

function readMember<T>(member: Field<T>, name: string, given: unknown): T {
  try {
    return member.read(given);
  } catch (error) {
    return wrongMember(name, error);
  }
}

function wrongMember(name: string, error: unknown): never {
  if (error instanceof WrongValue) {
    throw refuse("invalid_field", { field: name, reason: error.message });
  }
  throw error;
}

/** The name of a member nobody knows, as far as a reader can use it. */
const clipped = (name: string): string => (name.length > 200 ? `${name.slice(0, 200)}…` : name);

function readParameter<T>(member: Field<T>, parameter: string, given: unknown): T {
  try {
    return member.read(given);
  } catch (error) {
    if (error instanceof WrongValue) throw badQuery(parameter, error.message);
    throw error;
  }
}

function fromText(member: Field<unknown>, raw: string): unknown {
  if (member.schema.type === "integer" && /^-?\d{1,15}$/.test(raw)) return Number(raw);
  if (member.schema.type === "boolean" && (raw === "true" || raw === "false"))
    return raw === "true";
  return raw;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const asItIs = (value: unknown): Json => value as Json; // What reads JSON as itself.

const badQuery = (parameter: string, reason: string): Problem =>
  refuse("bad_query", { parameter, reason });

/** Some are dear: the serials of a bulk revocation are numbers of 160 bits. */
const entriesPerTurn = 500;

const field = <T>(schema: Schema, read: (value: unknown) => T): Field<T> => ({
  optional: false,
  schema,
  read,
  write: asItIs,
});
