/** Messages of the library as plain values, and back. */

import {
  create,
  type DescField,
  type DescMessage,
  isFieldSet,
  type Message as LibraryMessage,
} from "@bufbuild/protobuf";

import { instant, parseTimestamp, timestamp } from "#core/time.ts";

import { kindOf, type Message, MessageFault, type MessageValue } from "./schema.ts";

/**
 * What a message that was read says. A default without presence is absent; throws `MessageFault`
 * for an enum's number without name, an integer beyond 2^53 and a time outside of the years 1 to
 * 9999.
 */
export function valuesOf(type: DescMessage, message: LibraryMessage): Message {
  const values: Record<string, MessageValue> = {};
  for (const field of type.fields) {
    if (!isFieldSet(message, field)) continue;
    const value = memberOf(message, field);
    values[field.name] = Array.isArray(value)
      ? value.map((one) => plainOf(field, one))
      : plainOf(field, value);
  }
  return values;
}

/** The library's message of these values; throws for one its field cannot have, a caller's bug. */
export function messageOf(type: DescMessage, values: Message): LibraryMessage {
  const message: Record<string, unknown> = {};
  for (const field of type.fields) {
    const value = values[field.name];
    if (value === undefined) continue;
    if (field.fieldKind !== "list") {
      const one = libraryOf(field, value);
      // The library puts the members of a oneof under its name.
      if (field.oneof === undefined) message[field.localName] = one;
      else message[field.oneof.localName] = { case: field.localName, value: one };
    } else message[field.localName] = listOf(value).map((one) => libraryOf(field, one));
  }
  return create(type, message);
}

function plainOf(field: DescField, value: unknown): MessageValue {
  const kind = kindOf(field);
  const member = field.name;
  if (kind === "enum") {
    const name = field.enum?.value[Number(value)]?.name;
    if (name === undefined) throw new MessageFault("has an unknown value", { member });
    return name;
  }
  if (kind === "int64") {
    const number = Number(value);
    if (!Number.isSafeInteger(number)) throw new MessageFault("is too large", { member });
    return number;
  }
  if (kind === "timestamp") return timestampText(value, member);
  // A field of kind message has its type, and a value of it.
  if (field.message !== undefined) return valuesOf(field.message, value as LibraryMessage);
  return value as string | boolean | number; // What is left are scalars.
}

function libraryOf(field: DescField, value: MessageValue): unknown {
  const kind = kindOf(field);
  if (kind === "string") return String(value);
  if (kind === "bool") return value === true;
  if (kind === "int32") return Number(value);
  if (kind === "int64") return BigInt(Number(value));
  if (kind === "enum") return field.enum?.values.find(({ name }) => name === value)?.number ?? 0;
  if (kind === "timestamp") return timestampContent(String(value));
  if (typeof value !== "object" || Array.isArray(value) || field.message === undefined) {
    throw new Error("a message field is given a message");
  }
  return messageOf(field.message, value as Message); // Neither a scalar nor a list.
}

function timestampText(value: unknown, member: string): string {
  const { seconds, nanos } = value as { seconds: bigint; nanos: number }; // By its kind.
  const at = Number(seconds) * 1000 + Math.floor(nanos / 1_000_000);
  const proper = nanos >= 0 && nanos < 1_000_000_000;
  // Years 1 to 9999, as the type's own definition has it.
  if (!proper || at < -62_135_596_800_000 || at > 253_402_300_799_999) {
    throw new MessageFault("is no timestamp", { member });
  }
  return timestamp(instant(at));
}

function timestampContent(text: string): { seconds: bigint; nanos: number } {
  const at = parseTimestamp(text);
  if (at === undefined) throw new Error("a timestamp field is given a timestamp");
  const seconds = Math.floor(at / 1000);
  return { seconds: BigInt(seconds), nanos: (at - seconds * 1000) * 1_000_000 };
}

function listOf(value: MessageValue): readonly MessageValue[] {
  if (!Array.isArray(value)) throw new Error("a repeated field is given a list");
  return value;
}

/**
 * The library's messages are objects with a member for every field that is set, or for the oneof
 * it is in.
 */
function memberOf(message: LibraryMessage, { localName, oneof }: DescField): unknown {
  const members = message as unknown as Readonly<Record<string, unknown>>;
  if (oneof === undefined) return members[localName];
  return (members[oneof.localName] as { readonly value: unknown }).value; // Its field is set.
}
