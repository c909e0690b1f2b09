/**
 * The JSON form of protobuf (proto3): camelCase names, 64-bit integers and timestamps as text,
 * defaults left out.
 */

import {
  create,
  type DescField,
  type DescMessage,
  type JsonValue,
  mergeFromJson,
} from "@bufbuild/protobuf";

import {
  kindOf,
  type Message,
  MessageFault,
  type MessageValue,
  type ProtoSchema,
} from "./schema.ts";
import { valuesOf } from "./values.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * The JSON value of a message; written here and not by the library, which would leave out the
 * fraction digits that every time in an answer has.
 */
export function messageJson(schema: ProtoSchema, name: string, message: Message): Json {
  return objectOf(schema.type(name), message);
}

/**
 * The message of a JSON value; names in camelCase or as in the .proto file, `null` is absent.
 * Throws `MessageFault` for a wrong type and, so that no mistyped member is overlooked, for an
 * unknown name.
 */
export function readMessageJson(schema: ProtoSchema, name: string, value: unknown): Message {
  const type = schema.type(name);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new MessageFault("must be an object");
  }
  const message = create(type);
  const given = new Set<DescField>();
  for (const [key, content] of Object.entries(value)) {
    const field = type.fields.find((one) => one.name === key || one.jsonName === key);
    if (field === undefined) {
      throw new MessageFault("has an unknown member", { member: key, unknown: true });
    }
    const member = field.name;
    if (given.has(field)) throw new MessageFault("is given twice", { member });
    given.add(field);
    const isList = field.fieldKind === "list";
    if (isList && content !== null && !Array.isArray(content)) {
      throw new MessageFault("must be a list", { member });
    }
    const values: readonly unknown[] = isList ? (content ?? []) : [content];
    if (!values.every((one) => isPlain(field, one))) throw wrong(member);
    try {
      // Member by member, so that a fault has a name; whatever was parsed is a JSON value.
      mergeFromJson(type, message, { [key]: content as JsonValue });
    } catch {
      throw wrong(member);
    }
  }
  return valuesOf(type, message);
}

const wrong = (member: string) => new MessageFault("has a wrong type or value", { member });

/**
 * False for what the library reads and we do not: integers with a fraction, an exponent or in
 * another base, those beyond 2^53, and numbers an enum has no name for.
 */
function isPlain(field: DescField, value: unknown): boolean {
  if (value === null) return true;
  const kind = kindOf(field);
  if (kind === "enum") return typeof value !== "number" || field.enum?.value[value] !== undefined;
  if (kind !== "int32" && kind !== "int64") return true;
  if (typeof value === "string" && !/^-?\d{1,16}$/.test(value)) return false;
  return Number.isSafeInteger(Number(value));
}

function objectOf(type: DescMessage, message: Message): Json {
  const out: Record<string, unknown> = {};
  for (const field of type.fields) {
    const value = message[field.name];
    if (value === undefined) continue;
    if (field.fieldKind === "list") {
      const list = Array.isArray(value) ? value : [];
      if (list.length > 0) out[field.jsonName] = list.map((one) => valueJson(field, one));
    } else if (field.proto.proto3Optional || !isDefault(field, value)) {
      out[field.jsonName] = valueJson(field, value);
    }
  }
  return out;
}

function valueJson(field: DescField, value: MessageValue): unknown {
  if (kindOf(field) === "int64") return String(value);
  if (field.message === undefined || typeof value !== "object" || Array.isArray(value)) {
    return value;
  }
  return objectOf(field.message, value as Message); // Neither a scalar nor a list.
}

/**
 * True for what a message without presence leaves out: empty text, 0, false and the first name of
 * an enum.
 */
function isDefault(field: DescField, value: MessageValue): boolean {
  if (value === "" || value === 0 || value === false) return true;
  return field.enum?.values[0]?.name === value;
}
