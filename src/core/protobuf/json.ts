/**
 * The JSON form of protobuf (proto3): camelCase names, 64-bit integers and timestamps as text,
 * defaults left out.
 */

import { parseTimestamp, timestamp } from "#core/time.ts";

import {
  depthMax,
  type FieldRow,
  fieldsOf,
  isDefault,
  type Message,
  MessageFault,
  type MessageValue,
  type ProtoSchema,
} from "./schema.ts";

type Json = Readonly<Record<string, unknown>>;

/** The JSON value of a message. */
export function messageJson(schema: ProtoSchema, name: string, message: Message): Json {
  const out: Record<string, unknown> = {};
  for (const [, member, kind, occurs] of fieldsOf(schema, name)) {
    const value = message[member];
    if (value === undefined) continue;
    if (occurs === "repeated") {
      const list = Array.isArray(value) ? value : [];
      if (list.length > 0) out[camel(member)] = list.map((one) => valueJson(schema, kind, one));
    } else if (occurs === "optional" || !isDefault(schema, kind, value)) {
      out[camel(member)] = valueJson(schema, kind, value);
    }
  }
  return out;
}

/**
 * The message of a JSON value; names in camelCase or as in the .proto file, `null` is absent.
 * Throws `MessageFault` for a wrong type and, so that no mistyped member is overlooked, for an
 * unknown name.
 */
export function readMessageJson(schema: ProtoSchema, name: string, value: unknown): Message {
  return readObject(schema, name, value, 0);
}

function readObject(schema: ProtoSchema, name: string, value: unknown, depth: number): Message {
  if (depth > depthMax) throw new MessageFault("nests too deep");
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new MessageFault("must be an object");
  }
  const fields = new Map<string, FieldRow>();
  for (const row of fieldsOf(schema, name)) fields.set(row[1], row).set(camel(row[1]), row);
  const message: Record<string, MessageValue> = {};
  for (const [given, content] of Object.entries(value)) {
    const row = fields.get(given);
    if (row === undefined)
      throw new MessageFault("has an unknown member", { member: given, unknown: true });
    const [, member, kind, occurs] = row;
    if (Object.hasOwn(message, member)) throw new MessageFault("is given twice", { member });
    if (content === null) continue;
    if (occurs !== "repeated") message[member] = readValue(schema, member, kind, content, depth);
    else if (!Array.isArray(content)) throw new MessageFault("must be a list", { member });
    else message[member] = content.map((one) => readValue(schema, member, kind, one, depth));
  }
  return message;
}

function valueJson(schema: ProtoSchema, kind: string, value: MessageValue): unknown {
  if (kind === "int64") return String(value);
  if (typeof value !== "object" || Array.isArray(value)) return value;
  return messageJson(schema, kind, value as Message); // Neither a scalar nor a list.
}

function readValue(
  schema: ProtoSchema,
  member: string,
  kind: string,
  value: unknown,
  depth: number,
): MessageValue {
  const names = schema.enums[kind];
  if (names !== undefined) {
    const found = typeof value === "number" ? names[value] : names.find((one) => one === value);
    if (found !== undefined) return found;
  } else if (kind === "string" && typeof value === "string") return value;
  else if (kind === "bool" && typeof value === "boolean") return value;
  else if (kind === "int32" || kind === "int64") {
    const number = typeof value === "string" && /^-?\d{1,16}$/.test(value) ? Number(value) : value;
    const limit = kind === "int32" ? 2 ** 31 : 2 ** 53;
    if (Number.isInteger(number) && Number(number) >= -limit && Number(number) < limit) {
      return Number(number);
    }
  } else if (kind === "timestamp") {
    const at = typeof value === "string" ? parseTimestamp(value) : undefined;
    if (at !== undefined) return timestamp(at);
  } else if (Object.hasOwn(schema.messages, kind)) {
    return readObject(schema, kind, value, depth + 1);
  }
  throw new MessageFault("has a wrong type or value", { member });
}

/** The name a field has in JSON. */
export const camel = (name: string): string =>
  name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
