/**
 * Shapes of JSON bodies and query strings: strict reading with one named refusal each, and their
 * JSON Schema.
 */

import { type Problem, refuse } from "./problems.ts";
import { mapInTurns } from "./turns.ts";

/** Reads one member; `schema` describes it for /openapi.json. */
export interface Field<T> {
  readonly optional: boolean;
  /** Taken when an optional member is absent. */
  readonly fallback?: T;
  readonly schema: Readonly<Record<string, unknown>>;
  /** Gives the value, or throws the sentence of what is wrong as `WrongValue`. */
  read(value: unknown): T;
  /** As `read`, a few hundred entries in each turn; absent where a value is never long. */
  readInTurns?(value: unknown): Promise<T>;
}

export type Fields = Readonly<Record<string, Field<unknown>>>;
export type Input<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never;
};

/** What a field throws: the reason a value is refused, as a short phrase. */
export class WrongValue extends Error {}

/** Text of `min`..`max` characters, optionally matching `pattern`. */
export function text(
  options: { min?: number; max?: number; pattern?: RegExp } = {},
): Field<string> {
  const { min = 0, max = 4096, pattern } = options;
  const schema = {
    type: "string",
    minLength: min,
    maxLength: max,
    ...(pattern ? { pattern: pattern.source } : {}),
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
    readInTurns: async (value) =>
      mapInTurns(entries(value), entriesPerTurn, (entry) => item.read(entry)),
  };
}

/** An object with exactly these members. */
export function object<const F extends Fields>(fields: F): Field<Input<F>> {
  return {
    ...field(objectSchema(fields), (value) => readObject(fields, value, "")),
    readInTurns: async (value) => readBodyInTurns(fields, value),
  };
}

/** A value read by a function that throws a `Problem` or a `WrongValue`. */
export function parsed<T>(
  schema: Readonly<Record<string, unknown>>,
  read: (text: string) => T,
): Field<T> {
  return field(schema, (value) => {
    if (typeof value !== "string") throw new WrongValue("must be a string");
    return read(value);
  });
}

/** The member may be absent, and is then undefined. */
export function optional<T>(inner: Field<T>): Field<T | undefined> {
  const { schema, read, readInTurns } = inner;
  return { optional: true, schema, read, ...(readInTurns && { readInTurns }) };
}

/** The member may be absent, and is then `fallback`. */
export function otherwise<T>(inner: Field<T>, fallback: T): Field<T> {
  const { schema, read, readInTurns } = inner;
  return {
    optional: true,
    fallback,
    schema: { ...schema, default: fallback },
    read,
    ...(readInTurns && { readInTurns }),
  };
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
    if (raw !== null) out[parameter] = readParameter(member, parameter, raw);
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
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refuse("invalid_field", { field: path, reason: "must be an object" });
  }
  // Checked to be a plain JSON object above.
  const members = value as Readonly<Record<string, unknown>>;
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

function readParameter<T>(member: Field<T>, parameter: string, raw: string): T {
  try {
    return member.read(fromText(member, raw));
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

const badQuery = (parameter: string, reason: string): Problem =>
  refuse("bad_query", { parameter, reason });

/** Some are dear: the serials of a bulk revocation are numbers of 160 bits. */
const entriesPerTurn = 500;

const field = <T>(
  schema: Readonly<Record<string, unknown>>,
  read: (value: unknown) => T,
): Field<T> => ({
  optional: false,
  schema,
  read,
});
