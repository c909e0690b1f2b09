/**
 * The binary form of protobuf (proto3): strict where the format lets a reader be, with a limit on
 * everything.
 */

import { parseTimestamp, timestamp, instant } from "#core/time.ts";

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

/**
 * The octets of a message; throws for a value its field cannot have, which is a bug of the caller.
 */
export function encodeMessage(schema: ProtoSchema, name: string, message: Message): Uint8Array {
  const out: Uint8Array[] = [];
  for (const [number, member, kind, occurs] of fieldsOf(schema, name)) {
    const value = message[member];
    if (value === undefined) continue;
    if (occurs === "repeated") {
      for (const one of listOf(value)) writeField(out, schema, number, kind, one);
    } else if (occurs === "optional" || !isDefault(schema, kind, value)) {
      writeField(out, schema, number, kind, value);
    }
  }
  return new Uint8Array(Buffer.concat(out));
}

/**
 * The message of some octets, in time proportional to their number. Unknown fields are skipped, as
 * the format wants; throws `MessageFault` for the rest, and for more than `fieldsMax` fields, those
 * of nested messages included.
 */
export function decodeMessage(schema: ProtoSchema, name: string, octets: Uint8Array): Message {
  return readMessage({ schema, fieldsLeft: fieldsMax }, name, octets, 0);
}

/** One field whose value are these octets. */
export function delimited(number: number, octets: Uint8Array): Uint8Array {
  const tag = varint(BigInt((number << 3) | lengthDelimited));
  return Buffer.concat([tag, varint(BigInt(octets.length)), octets]);
}

function writeField(
  out: Uint8Array[],
  schema: ProtoSchema,
  number: number,
  kind: string,
  value: MessageValue,
): void {
  const encoded = encodedValue(schema, kind, value);
  if (typeof encoded === "bigint") out.push(varint(BigInt(number << 3)), varint(encoded));
  else out.push(delimited(number, encoded));
}

/** A varint as a number, everything else as its octets. */
function encodedValue(schema: ProtoSchema, kind: string, value: MessageValue): bigint | Uint8Array {
  if (kind === "string") return new TextEncoder().encode(String(value));
  if (kind === "bool") return value === true ? 1n : 0n;
  if (kind === "int32" || kind === "int64") return BigInt.asUintN(64, BigInt(Number(value)));
  if (kind === "timestamp") return encodedTimestamp(String(value));
  const names = schema.enums[kind];
  if (names !== undefined) return BigInt(Math.max(0, names.indexOf(String(value))));
  return encodeMessage(schema, kind, messageOf(value));
}

function encodedTimestamp(text: string): Uint8Array {
  const at = parseTimestamp(text);
  if (at === undefined) throw new Error("a timestamp field is given a timestamp");
  const seconds = Math.floor(at / 1000);
  const nanos = (at - seconds * 1000) * 1_000_000;
  return encodeMessage(timestampSchema, "Timestamp", { seconds, nanos });
}

/** One message being read, with all that nest in it. */
interface Reading {
  readonly schema: ProtoSchema;
  /** Fields that may still come: a field of two octets makes a value of many. */
  fieldsLeft: number;
}

function readMessage(reading: Reading, name: string, octets: Uint8Array, depth: number): Message {
  if (depth > depthMax) throw new MessageFault("nests too deep");
  const { schema } = reading;
  const fields = new Map(fieldsOf(schema, name).map((row) => [row[0], row]));
  const message: Record<string, MessageValue> = {};
  // Lists grow in place: copying one for every element would take the square of the octets.
  const lists = new Map<string, MessageValue[]>();
  const reader = new Reader(octets);
  while (!reader.done) {
    if (reading.fieldsLeft-- <= 0) throw new MessageFault("has too many fields");
    const { number, wire, whole, chunk } = reader.field();
    const row = fields.get(number);
    if (row === undefined) continue;
    const [, member, kind, occurs] = row;
    const value = readValue(reading, row, { wire, whole, chunk }, depth);
    if (occurs === "repeated") {
      const list = lists.get(member) ?? [];
      list.push(value);
      lists.set(member, list);
      message[member] = list;
    } else if (isMessage(schema, kind) && message[member] !== undefined) {
      // A message that comes twice is merged.
      message[member] = { ...messageOf(message[member]), ...messageOf(value) };
    } else message[member] = value;
  }
  return message;
}

function readValue(
  reading: Reading,
  [, member, kind]: FieldRow,
  { wire, whole, chunk }: Omit<WireField, "number">,
  depth: number,
): MessageValue {
  const names = reading.schema.enums[kind];
  const isWhole = names !== undefined || kind === "bool" || kind === "int32" || kind === "int64";
  if (wire !== (isWhole ? 0 : lengthDelimited))
    throw new MessageFault("has a wrong type", { member });
  if (names !== undefined) {
    const found = names[Number(BigInt.asUintN(32, whole))];
    if (found === undefined) throw new MessageFault("has an unknown value", { member });
    return found;
  }
  if (kind === "bool") return whole !== 0n;
  if (kind === "int32") return Number(BigInt.asIntN(32, whole));
  if (kind === "int64") return safe(BigInt.asIntN(64, whole), member);
  if (kind === "string") return textOf(chunk, member);
  if (kind === "timestamp") return timestampOf(reading, chunk, member, depth);
  return readMessage(reading, kind, chunk, depth + 1);
}

function timestampOf(reading: Reading, chunk: Uint8Array, member: string, depth: number): string {
  const inner: Reading = { schema: timestampSchema, fieldsLeft: reading.fieldsLeft };
  const { seconds = 0, nanos = 0 } = readMessage(inner, "Timestamp", chunk, depth + 1);
  reading.fieldsLeft = inner.fieldsLeft;
  const at = Number(seconds) * 1000 + Math.floor(Number(nanos) / 1_000_000);
  const proper = Number(nanos) >= 0 && Number(nanos) < 1_000_000_000;
  // Years 1 to 9999, as the type's own definition has it.
  if (!proper || at < -62_135_596_800_000 || at > 253_402_300_799_999) {
    throw new MessageFault("is no timestamp", { member });
  }
  return timestamp(instant(at));
}

function textOf(chunk: Uint8Array, member: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(chunk);
  } catch {
    throw new MessageFault("is not UTF-8", { member });
  }
}

function safe(value: bigint, member: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new MessageFault("is too large", { member });
  return number;
}

interface WireField {
  readonly number: number;
  readonly wire: number;
  /** The value of a varint. */
  readonly whole: bigint;
  readonly chunk: Uint8Array;
}

/** One field after another; what is cut short or not a field is a fault. */
class Reader {
  readonly #octets: Uint8Array;
  #at = 0;

  constructor(octets: Uint8Array) {
    this.#octets = octets;
  }

  get done(): boolean {
    return this.#at >= this.#octets.length;
  }

  field(): WireField {
    const tag = this.#varint();
    const wire = Number(tag & 7n);
    const number = Number(tag >> 3n);
    if (number < 1 || number > fieldNumberMax) throw new MessageFault("has a wrong field number");
    if (wire === 0) return { number, wire, whole: this.#varint(), chunk: none };
    const length = wire === lengthDelimited ? this.#varint() : fixedLengths.get(wire);
    if (length === undefined) throw new MessageFault("has a field of an unknown type");
    return { number, wire, whole: 0n, chunk: this.#take(length) };
  }

  #varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const octet = this.#octets[this.#at++];
      if (octet === undefined) throw new MessageFault("is cut short");
      value |= BigInt(octet & 0x7f) << shift;
      if (octet < 0x80) return BigInt.asUintN(64, value);
    }
    throw new MessageFault("has a number without end");
  }

  #take(length: bigint): Uint8Array {
    const end = BigInt(this.#at) + length;
    if (end > BigInt(this.#octets.length)) throw new MessageFault("is cut short");
    const chunk = this.#octets.subarray(this.#at, Number(end));
    this.#at = Number(end);
    return chunk;
  }
}

function varint(value: bigint): Uint8Array {
  const octets: number[] = [];
  let rest = value;
  while (rest >= 0x80n) {
    octets.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return Uint8Array.of(...octets, Number(rest));
}

const isMessage = (schema: ProtoSchema, kind: string): boolean =>
  Object.hasOwn(schema.messages, kind);

function listOf(value: MessageValue): readonly MessageValue[] {
  if (!Array.isArray(value)) throw new Error("a repeated field is given a list");
  return value;
}

function messageOf(value: MessageValue | undefined): Message {
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new Error("a message field is given a message");
  }
  return value as Message; // Neither a scalar nor a list, by the check above.
}

/** google.protobuf.Timestamp. */
const timestampSchema: ProtoSchema = {
  messages: {
    Timestamp: [
      [1, "seconds", "int64"],
      [2, "nanos", "int32"],
    ],
  },
  enums: {},
};

const lengthDelimited = 2;
/** Fields of fixed length, which pkid has none of and skips. */
const fixedLengths: ReadonlyMap<number, bigint> = new Map([
  [1, 8n],
  [5, 4n],
]);
/** More than any message of ours holds: the longest lists are names of one certificate. */
const fieldsMax = 20_000;
const fieldNumberMax = 536_870_911;
const none = new Uint8Array();
