/**
 * The fields a section is declared with: each takes a sentence and, when there is one, the default.
 */

import { WrongValue } from "#core/shape.ts";

import {
  absolutePath,
  absoluteUrl,
  type Kind,
  hostAndPort,
  oneWord,
  type Place,
  span,
  textual,
  truth,
  whole,
} from "./kinds.ts";
import {
  type Derived,
  type Field,
  isPlain,
  type MaybeDerived,
  type Members,
  readMembers,
  type Values,
  writeMembers,
} from "./section.ts";

/**
 * The type of a value: possibly undefined when the field has no default, or one that may come to
 * nothing.
 */
export type Filled<T, F> = [F] extends [undefined | MaybeDerived] ? T | undefined : T;

/** A field of any kind. */
export function field<T, F = undefined>(
  sentence: string,
  kind: Kind<T>,
  fallback?: F,
): Field<Filled<T, F>> {
  const made: Field<T> = { node: "field", sentence, kind, fallback, reloadable: false };
  // Without a default the loader gives undefined where nothing is set; `kind` itself never reads
  // undefined.
  return made as unknown as Field<Filled<T, F>>;
}

/** The fields of one kind; defaults are written as `Raw`, as in a file. */
function plain<Raw, T = Raw>(kind: Kind<T>) {
  return <F extends Raw | Derived | undefined = undefined>(sentence: string, fallback?: F) =>
    field(sentence, kind, fallback);
}

/** A switch. */
export const flag = plain<boolean>(truth);

/** A whole number, by default not negative. */
export const count = <F extends number | Derived | undefined = undefined>(
  sentence: string,
  fallback?: F,
  range: { min?: number; max?: number } = {},
) => field(sentence, whole(range.min ?? 0, range.max ?? Number.MAX_SAFE_INTEGER), fallback);

/** One word of a closed list. */
export const word = <const W extends string, F extends W | Derived | undefined = undefined>(
  sentence: string,
  words: readonly W[],
  fallback?: F,
): Field<Filled<W, F>> => field(sentence, oneWord(words), fallback);

/** Free text of one line. */
export const text = plain<string>(textual("string", "text"));

/** A file or directory; relative ones are relative to the working directory. */
export const path = plain<string>(absolutePath);

/** A file that must exist and be readable at start (V-27). */
export const existingFile = (sentence: string): Field<string | undefined> => ({
  ...path(sentence),
  mustExist: true,
});

/** The base of URLs: no query, no fragment, no user info, no final slash. */
export const baseUrl = plain<string>(absoluteUrl("base"));

/** An absolute http or https URL, kept as it is. */
export const anyUrl = plain<string>(absoluteUrl("any"));

/** A host with a port. */
export const hostPort = plain<string>(hostAndPort);

/** A span of time; the value is in seconds. */
export const duration = plain<string, number>(span);

/** A list of scalars. */
export const list = <T, F extends readonly unknown[] | Derived | undefined = undefined>(
  sentence: string,
  item: Kind<T>,
  fallback?: F,
): Field<Filled<readonly T[], F>> => field(sentence, listKind(item), fallback);

/** A mapping from names to values of one kind. */
export const map = <T>(sentence: string, item: Kind<T>): Field<Readonly<Record<string, T>>> =>
  field(sentence, mapKind(item), {});

/** A list of objects with declared members; an item member without default may be absent. */
export function items<const M extends Members>(
  sentence: string,
  members: M,
): Field<readonly Values<M>[]> {
  return { ...field(sentence, listKind(objectKind(members), "object"), []), members };
}

/** The same field, taken over by a reload (RLD-1). */
export const reloadable = <T>(of: Field<T>): Field<T> => ({ ...of, reloadable: true });

/** A list whose items are of one kind; from the environment comma separated or a JSON array. */
export function listKind<T>(
  item: Kind<T>,
  shape: "scalar" | "object" = "scalar",
): Kind<readonly T[]> {
  return {
    type: `${shape === "object" ? "object" : grouped(item.type)}[]`,
    schema: { type: "array", items: item.schema, maxItems: itemsMax },
    sample: shape === "object" ? [] : [item.sample],
    fromText: (given) => {
      if (shape === "object" || given.trimStart().startsWith("[")) return fromJson(given);
      return given.trim() === "" ? [] : given.split(",").map((part) => item.fromText(part.trim()));
    },
    read: (raw, at) => {
      if (!Array.isArray(raw)) throw new WrongValue("Must be a list.");
      if (raw.length > itemsMax) throw new WrongValue(`Must have at most ${itemsMax} items.`);
      return raw.flatMap((entry, index) =>
        collected(item, entry, { ...at, path: `${at.path}[${index}]` }),
      );
    },
    write: (values) => values.map((value) => item.write(value)),
  };
}

/** A mapping whose values are of one kind; from the environment JSON. */
export function mapKind<T>(item: Kind<T>): Kind<Readonly<Record<string, T>>> {
  return {
    type: `name → ${grouped(item.type)}`,
    schema: { type: "object", additionalProperties: item.schema },
    sample: {},
    fromText: fromJson,
    read: (raw, at) => {
      if (!isPlain(raw)) throw new WrongValue("Must be a mapping of names to values.");
      const pairs = Object.entries(raw);
      if (pairs.length > itemsMax) throw new WrongValue(`Must have at most ${itemsMax} names.`);
      const read = pairs.flatMap(([name, value]) =>
        collected(item, value, { ...at, path: `${at.path}.${name}` }).map((of) => [name, of]),
      );
      return Object.fromEntries(read);
    },
    write: (values) =>
      Object.fromEntries(Object.entries(values).map(([name, value]) => [name, item.write(value)])),
  };
}

function objectKind<const M extends Members>(members: M): Kind<Values<M>> {
  return {
    type: "object",
    schema: { type: "object" },
    sample: {},
    fromText: fromJson,
    read: (raw, at) => readMembers(members, raw, at),
    write: (value) => writeMembers(members, value),
  };
}

/** Reads one item, its fault collected under the item's own path. */
function collected<T>(kind: Kind<T>, raw: unknown, at: Place): readonly T[] {
  try {
    return [kind.read(raw, at)];
  } catch (error) {
    if (!(error instanceof WrongValue)) throw error;
    at.faults.push({ path: at.path, sentence: error.message });
    return [];
  }
}

/** JSON of an environment variable; text that is none is handed on for the kind to refuse. */
function fromJson(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return given; // The kind answers with its own sentence for text where a structure is due.
  }
}

/** A type as it stands before `[]`: alternatives in parentheses. */
const grouped = (type: string): string => (type.includes("|") ? `(${type})` : type);

const itemsMax = 10_000;
