/**
 * The kit that operations and configuration are declared with: kinds of values, read strictly,
 * written back, described as JSON Schema; and the members of what is asked and answered.
 */

import { type Described, rawOf, type Schema } from "#core/shape/described.ts";

import { Problem, type ProblemCode, refuse } from "./problems.ts";
import { mapInTurns } from "./turns.ts";

/** One kind of values. */
export interface Kind<T> extends Described {
  /** Codes of the problems it throws where a wrong value has a code of its own. */
  readonly refuses?: readonly ProblemCode[];
  /**
   * Gives the value, or throws what is wrong as `WrongValue`. With a place, faults of the entries
   * of a list or mapping are told there, all of them, and the value without these entries is given.
   */
  read(value: unknown, at?: Place): T;
  /** The plain JSON that reads as the value: of several spellings the canonical one. */
  write(value: T): Json;
  /** As `read`, a few hundred entries in each turn; absent where a value is never long. */
  readInTurns?(value: unknown): Promise<T>;
}

/** A member of what an operation takes or gives: a kind by itself is one that must be there. */
export interface Field<T> extends Kind<T> {
  readonly optional?: boolean;
  /** Taken when an optional member is absent. */
  readonly fallback?: T;
}

/** Where a value stands, for readers that want every fault and not the first one. */
export interface Place {
  readonly path: string;
  /** Takes what is wrong at a path; whatever is read then is not to be used. */
  readonly tell: (path: string, wrong: WrongValue) => void;
}

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

/**
 * What a kind throws: the reason a value is refused, as a short phrase, and as a fact where the
 * configuration has other words for it than the API.
 */
export class WrongValue extends Error {
  readonly fact: WrongFact | undefined;

  constructor(phrase: string, fact?: WrongFact) {
    super(phrase);
    this.fact = fact;
  }
}

/** What is wrong with a value; `bound` is the number it should not be below or above. */
export type WrongFact =
  | { readonly is: "not_text" | "not_whole" | "not_mapping" | "empty" }
  | { readonly is: "below" | "above"; readonly bound: number };

/** What a text must be. */
export interface TextRule {
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: RegExp | undefined;
  /** Said of text that does not match, instead of the pattern. */
  readonly wants?: string;
  /** `line` excludes control characters, `any` nothing. */
  readonly characters?: "unicode" | "line" | "any";
  /** One that a schema with a pattern cannot lead to. */
  readonly example?: string;
}

/** Text of `min`..`max` characters, optionally matching `pattern`. */
export function text(rule: TextRule = {}): Kind<string> {
  const { min = 0, max = 4096, pattern, wants, characters = "unicode", example } = rule;
  const schema = {
    type: "string",
    minLength: min,
    maxLength: max,
    ...(pattern ? { pattern: pattern.source } : {}),
    ...(example === undefined ? {} : { examples: [example] }),
  };
  return kind(schema, (given) => {
    const value = textOf(given);
    if (value.length < min) {
      const fact = value === "" ? ({ is: "empty" } as const) : undefined;
      throw new WrongValue(`must have at least ${min} characters`, fact);
    }
    if (value.length > max) throw new WrongValue(`must have at most ${max} characters`);
    if (characters === "line" && controlCharacter.test(value)) {
      throw new WrongValue("must not have control characters");
    }
    // RFC 7493 §2.1 for surrogates; neither they nor NUL survive every database and every log.
    if (characters !== "any" && (!value.isWellFormed() || value.includes("\0"))) {
      throw new WrongValue("must be Unicode text without NUL");
    }
    if (pattern && !pattern.test(value)) {
      throw new WrongValue(wants ?? `must match ${pattern.source}`);
    }
    return value;
  });
}

/** A whole number within bounds, both included. */
export function integer(min: number, max: number): Kind<number> {
  return kind({ type: "integer", minimum: min, maximum: max }, (value) => {
    if (typeof value !== "number" || !Number.isSafeInteger(value)) {
      throw new WrongValue("must be an integer", { is: "not_whole" });
    }
    return within(value, min, max);
  });
}

/** `true` or `false`. */
export function flag(): Kind<boolean> {
  return kind({ type: "boolean" }, (value) => {
    if (typeof value !== "boolean") throw new WrongValue("must be true or false");
    return value;
  });
}

/** One of the words given. */
export function oneOf<const W extends string>(words: readonly W[]): Kind<W> {
  return kind({ type: "string", enum: words }, (value) => {
    const word = words.find((candidate) => candidate === value);
    if (word === undefined) throw new WrongValue(`must be one of ${words.join(", ")}`);
    return word;
  });
}

/** What is answered as text: of any length, any characters. */
export const words = (schema: Schema = {}): Kind<string> =>
  kind({ type: "string", ...schema }, textOf);

/** A number that may have a fraction, within bounds where they are given. */
export function decimal(bounds?: { readonly min: number; readonly max: number }): Kind<number> {
  const schema = bounds && { minimum: bounds.min, maximum: bounds.max };
  return kind({ type: "number", ...schema }, (value) => {
    if (typeof value !== "number" || !Number.isFinite(value)) {
      throw new WrongValue("must be a number");
    }
    return bounds === undefined ? value : within(value, bounds.min, bounds.max);
  });
}

/** A list of any length, as answers have them. */
export const many = <T>(item: Kind<T>): Kind<readonly T[]> => {
  const { schema, ...rest } = list(item, 0, Number.MAX_SAFE_INTEGER);
  return { ...rest, schema: { type: schema.type, items: schema.items } };
};

/** A list of `min`..`max` items. */
export function list<T>(item: Kind<T>, min = 0, max = 100): Kind<readonly T[]> {
  const schema = { type: "array", items: item.schema, minItems: min, maxItems: max };
  const entries = (value: unknown): readonly unknown[] => {
    if (!Array.isArray(value)) throw new WrongValue("must be a list");
    if (value.length < min) throw new WrongValue(`must have at least ${min} items`);
    if (value.length > max) throw new WrongValue(`must have at most ${max} items`);
    return value;
  };
  const reading = (value: unknown, at?: Place): readonly T[] => {
    const given = entries(value);
    if (at === undefined) return given.map((entry) => item.read(entry));
    return given.flatMap((entry, index) => readAt(item, entry, at, `${at.path}[${index}]`));
  };
  return {
    ...kind(schema, reading),
    ...(item.refuses && { refuses: item.refuses }),
    entry: item,
    write: (values) => values.map((value) => item.write(value)),
    readInTurns: async (value) =>
      mapInTurns(entries(value), entriesPerTurn, (entry) => item.read(entry)),
  };
}

/** An object with exactly these members, of whose faults the first one is told. */
export function object<const F extends Fields>(fields: F): Kind<Input<F>> {
  return {
    ...kind(objectSchema(fields), (value) => readObject(fields, value, "")),
    refuses: refusesOf(fields),
    write: (value) => writeMembers(fields, value),
    readInTurns: async (value) => readBodyInTurns(fields, value),
  };
}

/** The same for answers, which leave optional members out. */
export const shape = <const F extends Fields>(fields: F): Kind<Output<F>> =>
  object(fields) as unknown as Kind<Output<F>>; // Absent members are undefined once read.

/** A text read by a function that throws a `Problem` or a `WrongValue`. */
export function parsed<T extends string>(schema: Schema, read: (text: string) => T): Kind<T>;
/** The same for a value that is no text itself, which another function writes. */
export function parsed<T>(
  schema: Schema,
  read: (text: string) => T,
  write: (value: T) => Json,
): Kind<T>;
/** Both of them: text is written as it is. */
export function parsed<T>(
  schema: Schema,
  read: (text: string) => T,
  write: (value: T) => Json = asItIs,
): Kind<T> {
  return { ...kind(schema, (value) => read(textOf(value))), write };
}

/** The same kind, which throws problems of these codes for what is wrong. */
export const refusing = <T>(inner: Kind<T>, ...refuses: readonly ProblemCode[]): Kind<T> => ({
  ...inner,
  refuses,
});

/** The codes of all members, each once. */
export const refusesOf = (fields: Fields): readonly ProblemCode[] => [
  ...new Set(Object.values(fields).flatMap(({ refuses = [] }) => refuses)),
];

/** A mapping from at most `max` names to values of one kind. */
export function mapOf<T>(
  value: Kind<T>,
  max = Number.MAX_SAFE_INTEGER,
): Kind<Readonly<Record<string, T>>> {
  const schema = { type: "object", additionalProperties: value.schema };
  const reading = (given: unknown, at?: Place) => {
    if (!isObject(given)) throw new WrongValue("must be an object", { is: "not_mapping" });
    const entries = Object.entries(given);
    if (entries.length > max) throw new WrongValue(`must have at most ${max} names`);
    const read: [string, T][] = [];
    for (const [name, one] of entries) {
      if (at === undefined) read.push([name, value.read(one)]);
      else for (const of of readAt(value, one, at, `${at.path}.${name}`)) read.push([name, of]);
    }
    return Object.fromEntries(read);
  };
  return {
    ...kind(schema, reading),
    ...(value.refuses && { refuses: value.refuses }),
    entry: value,
    write: (values) =>
      Object.fromEntries(Object.entries(values).map(([name, one]) => [name, value.write(one)])),
  };
}

/** Any JSON, as it is: what somebody else has shaped. */
export const anything = (schema: Schema = {}): Kind<Json> =>
  // Bodies and answers are JSON.
  kind(schema, (value) => value as Json);

/** One of several shapes; the first that reads the value is taken. */
export function either<const A extends readonly Kind<unknown>[]>(
  ...shapes: A
): Kind<ValueOf<A[number]>> {
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
  return kind({ anyOf: shapes.map(({ schema }) => schema) }, reading);
}

/** The member may be absent, and is then undefined. */
export function optional<T>(inner: Kind<T>): Field<T | undefined> {
  const write = (value: T | undefined) => (value === undefined ? null : inner.write(value));
  // What the kind would be without a value is not taken over: here absent means undefined.
  return { ...inner, optional: true, fallback: undefined, write };
}

/** The member may be absent, and is then `fallback`. */
export function otherwise<T>(inner: Kind<T>, fallback: T): Field<T> {
  return { ...inner, optional: true, fallback, schema: { ...inner.schema, default: fallback } };
}

/** The value in a list, at its place; nothing, and the fault told there, where it is refused. */
export function readAt<T>(
  { read }: Kind<T>,
  value: unknown,
  { tell }: Place,
  path: string,
): readonly T[] {
  try {
    return [read(value, { path, tell })];
  } catch (error) {
    if (!(error instanceof WrongValue)) throw error;
    tell(path, error);
    return [];
  }
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
  for (const parameter of query.size === 0 ? [] : new Set(query.keys())) {
    if (!Object.hasOwn(fields, parameter))
      throw refuse("unknown_parameter", { parameter: clipped(parameter) });
    if (query.getAll(parameter).length > 1) throw badQuery(parameter, "is given twice");
  }
  for (const [parameter, member] of Object.entries(fields)) {
    const raw = query.get(parameter);
    if (raw !== null) out[parameter] = readParameter(member, parameter, rawOf(member, raw));
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
  const required = Object.keys(fields).filter((name) => !fields[name]?.optional);
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

function textOf(value: unknown): string {
  if (typeof value !== "string") throw new WrongValue("must be a string", { is: "not_text" });
  return value;
}

function within(value: number, min: number, max: number): number {
  if (value >= min && value <= max) return value;
  const fact = value < min ? ({ is: "below", bound: min } as const) : undefined;
  throw new WrongValue(`must be within ${min}..${max}`, fact ?? { is: "above", bound: max });
}

/** True for a mapping: an object that is neither null nor a list. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const asItIs = (value: unknown): Json => value as Json; // What reads JSON as itself.

const badQuery = (parameter: string, reason: string): Problem =>
  refuse("bad_query", { parameter, reason });

/** Some are dear: the serials of a bulk revocation are numbers of 160 bits. */
const entriesPerTurn = 500;

const controlCharacter = /\p{Cc}/u;

const kind = <T>(schema: Schema, read: (value: unknown, at?: Place) => T): Kind<T> => ({
  schema,
  read,
  write: asItIs,
});
