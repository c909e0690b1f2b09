/**
 * The fields a section is declared with: each takes a sentence, one of the kinds of the kit (CFG-5)
 * and, when there is one, the default.
 */

import { resolve } from "node:path";

import * as kit from "#core/shape.ts";
import { absoluteUrl, hostAndPort, span, textual } from "#core/shape/texts.ts";

import {
  type Derived,
  type Field,
  type MaybeDerived,
  type Members,
  readMembers,
  type Values,
  writeMembers,
  type WrittenPlace,
} from "./section.ts";

/**
 * The type of a value: possibly undefined when the field has no default, or one that may come to
 * nothing.
 */
export type Filled<T, F> = [F] extends [undefined | MaybeDerived] ? T | undefined : T;

/** A field of any kind. */
export function field<T, F = undefined>(
  sentence: string,
  kind: kit.Kind<T>,
  fallback?: F,
): Field<Filled<T, F>> {
  const made: Field<T> = { node: "field", sentence, kind, fallback, reloadable: false };
  // Without a default the loader gives undefined where nothing is set; `kind` itself never reads
  // undefined.
  return made as unknown as Field<Filled<T, F>>;
}

/** The fields of one kind; defaults are written as `Raw`, as in a file. */
function plain<Raw, T = Raw>(kind: kit.Kind<T>) {
  return <F extends Raw | Derived | undefined = undefined>(sentence: string, fallback?: F) =>
    field(sentence, kind, fallback);
}

/** A switch. */
export const flag = plain<boolean>(kit.flag());

/** A whole number, by default not negative. */
export const count = <F extends number | Derived | undefined = undefined>(
  sentence: string,
  fallback?: F,
  range: { min?: number; max?: number } = {},
) => field(sentence, kit.integer(range.min ?? 0, range.max ?? Number.MAX_SAFE_INTEGER), fallback);

/** One word of a closed list. */
export const word = <const W extends string, F extends W | Derived | undefined = undefined>(
  sentence: string,
  words: readonly W[],
  fallback?: F,
): Field<Filled<W, F>> => field(sentence, kit.oneOf(words), fallback);

/** A path, made absolute: the signer runs in a directory of its own and must mean the same file. */
export const absolutePath: kit.Kind<string> = {
  ...textual("path", "/etc/pkid/file"),
  read: (raw) => resolve(pathText.read(raw)),
};

/** Free text of one line. */
export const text = plain<string>(textual("string", "text"));

/**
 * A file that is read when it is wanted, as an item of a source says it; relative ones are relative
 * to the working directory.
 */
export const path = plain<string>(absolutePath);

/** A file that must exist and be readable at start (V-27). */
export const existingFile = (sentence: string): Field<string | undefined> => ({
  ...path(sentence),
  mustExist: true,
});

/** The same field, as a place that is written to. */
export const written = <T>(writes: WrittenPlace, of: Field<T>): Field<T> => ({ ...of, writes });

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
  item: kit.Kind<T>,
  fallback?: F,
): Field<Filled<readonly T[], F>> => field(sentence, listKind(item), fallback);

/** A mapping from names to values of one kind. */
export const map = <T>(sentence: string, item: kit.Kind<T>): Field<Readonly<Record<string, T>>> =>
  field(sentence, kit.mapOf(item, entriesMax), {});

/** A list of objects with declared members; an item member without default may be absent. */
export function items<const M extends Members>(
  sentence: string,
  members: M,
): Field<readonly Values<M>[]> {
  return { ...field(sentence, listKind(objectKind(members)), []), members };
}

/** A mapping from names to objects with declared members. */
export function named<const M extends Members>(
  sentence: string,
  members: M,
): Field<Readonly<Record<string, Values<M>>>> {
  return { ...field(sentence, kit.mapOf(objectKind(members), entriesMax), {}), members };
}

/** The same field, taken over by a reload (RLD-1). */
export const reloadable = <T>(of: Field<T>): Field<T> => ({ ...of, reloadable: true });

/** A list whose items are of one kind. */
export const listKind = <T>(item: kit.Kind<T>): kit.Kind<readonly T[]> => ({
  ...kit.list(item, 0, entriesMax),
  schema: { type: "array", items: item.schema, maxItems: entriesMax },
});

function objectKind<const M extends Members>(members: M): kit.Kind<Values<M>> {
  return {
    schema: { type: "object" },
    read: (raw, at) => readMembers(members, raw, at),
    write: (value) => writeMembers(members, value),
  };
}

const pathText = textual("path", "/etc/pkid/file");
const entriesMax = 10_000;
