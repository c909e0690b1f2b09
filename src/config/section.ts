/**
 * The declaration kit: sections hold fields, a field is a sentence, a default and a kind;
 * everything else is derived.
 */

import {
  isObject,
  type Json,
  type JsonObject,
  type Kind,
  type Place,
  readAt,
  WrongValue,
} from "#core/shape.ts";

import { nearest } from "./nearest.ts";

/** A default that follows from other keys; `text` is what the reference prints for it. */
export interface Derived {
  readonly text: string;
  /**
   * The raw value, read like any other; `of` gives the value of another key, `host` is this
   * machine's name.
   */
  readonly from: (of: (path: string) => unknown, host: string) => unknown;
}

/** A derived default that may come to nothing. */
export interface MaybeDerived extends Derived {
  readonly maybe: true;
}

/** One key that can be set. */
export interface Field<T> {
  readonly node: "field";
  readonly sentence: string;
  readonly kind: Kind<T>;
  /** The raw default; undefined leaves the value undefined. */
  readonly fallback: unknown;
  readonly reloadable: boolean;
  /** A secret has the sibling key `<key>_source` (SEC-2), whose kind this is. */
  readonly source?: Kind<unknown>;
  /** The members of each item, when this is a list or a map of objects. */
  readonly members?: Members;
  /** Says that the file named by the key must exist and be readable at start (V-27). */
  readonly mustExist?: boolean;
  /** Says that the value is a place that pkid writes to, and what it makes there. */
  readonly writes?: WrittenPlace;
}

/** A file, whose directory is written to, or a directory that is made for the server or for all. */
export type WrittenPlace = "file" | "private directory" | "public directory";

/** Keys under one name. */
export interface Section<M extends Members = Members> {
  readonly node: "section";
  readonly title: string;
  readonly members: M;
}

export interface Members {
  readonly [key: string]: Field<unknown> | Section;
}

/** The typed values of declared members. */
export type Values<M> = {
  readonly [K in keyof M]: M[K] extends Section<infer N>
    ? Values<N>
    : M[K] extends Field<infer T>
      ? T
      : never;
};

/** Declares a section: a title for the reference, and its members. */
export function section<const M extends Members>(title: string, members: M): Section<M> {
  return { node: "section", title, members };
}

/** Declares a default that follows from other keys. */
export function derived(text: string, from: Derived["from"]): Derived {
  return { text, from };
}

/** Declares a default that follows from other keys and is absent when they are. */
export function maybeDerived(text: string, from: Derived["from"]): MaybeDerived {
  return { text, from, maybe: true };
}

/** True for a default that follows from other keys. */
export function isDerived(fallback: unknown): fallback is Derived {
  return isObject(fallback) && typeof fallback.from === "function";
}

/** A field with its full path. */
export interface Leaf {
  readonly path: string;
  readonly field: Field<unknown>;
}

/** Every field below the section, in the order of declaration. */
export function leaves(root: Section, prefix = ""): readonly Leaf[] {
  return Object.entries(root.members).flatMap(([key, member]) =>
    member.node === "section"
      ? leaves(member, `${prefix}${key}.`)
      : [{ path: prefix + key, field: member }],
  );
}

/** The keys a mapping may have: the members, and the sources of those that are secret. */
export function keysOf(members: Members): readonly string[] {
  return Object.entries(members).flatMap(([key, member]) =>
    member.node === "field" && member.source ? [key, `${key}_source`] : [key],
  );
}

/** Reads one field at its place; a fault is collected there, and the value is then undefined. */
export function readField(field: Field<unknown>, raw: unknown, at: Place): unknown {
  return raw === undefined ? undefined : readAt(field.kind, raw, at, at.path)[0];
}

/** Reads a secret from its value and its source, of which the source wins (SEC-2). */
export function readSecret(
  field: Field<unknown>,
  raw: { readonly value: unknown; readonly source: unknown },
  at: Place,
): unknown {
  if (raw.source === undefined || !field.source) return readField(field, raw.value, at);
  const sourceField = { ...field, kind: field.source };
  return readField(sourceField, raw.source, { ...at, path: `${at.path}_source` });
}

/** Reads an object inside a list or map; defaults of members do not depend on other keys there. */
export function readMembers<const M extends Members>(
  members: M,
  raw: unknown,
  at: Place = firstFault,
): Values<M> {
  if (!isObject(raw)) throw new WrongValue("must be a mapping of keys to values");
  reportUnknown(members, raw, at);
  const out: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(members)) {
    const inner = { ...at, path: `${at.path}.${key}` };
    const given = own(raw, key);
    if (member.node === "section") {
      out[key] = readMembers(member.members, given ?? {}, inner);
    } else {
      const value = given === undefined ? member.fallback : given;
      out[key] = readSecret(member, { value, source: own(raw, `${key}_source`) }, inner);
    }
  }
  return out as Values<M>; // Every member was read by its own field; faults void the whole result.
}

/**
 * Writes an object inside a list or map back as it would stand in a file; absent values are left
 * out.
 */
export function writeMembers(members: Members, value: unknown): JsonObject {
  const out: Record<string, Json> = {};
  if (!isObject(value)) return out;
  for (const [key, member] of Object.entries(members)) {
    const inner = value[key];
    if (member.node === "section") {
      const written = writeMembers(member.members, inner);
      if (Object.keys(written).length > 0) out[key] = written;
    } else if (inner !== undefined) Object.assign(out, writeField(key, member, inner));
  }
  return out;
}

/**
 * The one or two keys that a value takes in a file: a secret from a source is written as its
 * source.
 */
export function writeField(key: string, field: Field<unknown>, value: unknown): JsonObject {
  if (field.source && isObject(value) && value.from === "source") {
    return { [`${key}_source`]: field.source.write(value) };
  }
  return { [key]: field.kind.write(value) };
}

/** Reports keys that no member declares, each with the nearest known one (CFG-3, V-1). */
export function reportUnknown(
  members: Members,
  raw: Readonly<Record<string, unknown>>,
  at: Place,
): void {
  const known = keysOf(members);
  for (const key of Object.keys(raw)) {
    if (known.includes(key)) continue;
    const path = at.path === "" ? key : `${at.path}.${key}`;
    const prefix = at.path === "" ? "" : `${at.path}.`;
    const close = nearest(key, known);
    const hint = close === undefined ? "" : ` The nearest known key is ${prefix}${close}.`;
    at.tell(path, new WrongValue(`There is no such key.${hint}`));
  }
}

/** The member of a mapping, never one inherited. */
export function own(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** For readers that want the first fault and no others. */
const firstFault: Place = {
  path: "",
  tell: (_, wrong) => {
    throw wrong;
  },
};
