/**
 * What octets of a stranger have to be before the library reads them: it counts nothing, and takes
 * a value of any wire type.
 */

import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

import { depthMax, kindOf, MessageFault } from "./schema.ts";

/**
 * Passes octets whose known fields are of their types' wire types and of UTF-8, whose messages end
 * where they say, and which have no groups (proto3 has none) and at most `fieldsMax` fields, those
 * of nested messages included; throws `MessageFault` for others. Takes time in proportion to the
 * octets.
 */
export function requireReadable(type: DescMessage, octets: Uint8Array): void {
  walk({ fieldsLeft: fieldsMax }, type, octets, 0);
}

/** One message being walked, with all that nest in it. */
interface Walk {
  /** Fields that may still come: a field of two octets makes a value of many. */
  fieldsLeft: number;
}

function walk(through: Walk, type: DescMessage, octets: Uint8Array, depth: number): void {
  if (depth > depthMax) throw new MessageFault("nests too deep");
  const reader = new BinaryReader(octets);
  while (reader.pos < octets.length) {
    if (through.fieldsLeft-- <= 0) throw new MessageFault("has too many fields");
    const [number, wire] = faults("has a wrong field number", () => reader.tag());
    const field = type.fields.find((one) => one.number === number);
    const chunk = contentOf(reader, wire, octets);
    if (field === undefined) continue;
    const member = field.name;
    if (wire !== wireOf(field)) throw new MessageFault("has a wrong type", { member });
    if (field.message !== undefined) walk(through, field.message, chunk, depth + 1);
    else if (wire === WireType.LengthDelimited) requireUtf8(chunk, member);
  }
}

/** Moves behind the value; gives its octets where it says its length. */
function contentOf(reader: BinaryReader, wire: WireType, octets: Uint8Array): Uint8Array {
  if (wire === WireType.StartGroup || wire === WireType.EndGroup) {
    throw new MessageFault("has a field of an unknown type");
  }
  if (wire === WireType.Bit32 || wire === WireType.Bit64) {
    return faults("is cut short", () => reader.skip(wire));
  }
  const whole = Number(faults("has a number without end", () => reader.uint64()));
  if (wire === WireType.Varint) return none;
  const start = reader.pos;
  // The library would take the low 32 bits of a longer length.
  if (whole > octets.length - start) throw new MessageFault("is cut short");
  reader.pos = start + whole;
  return octets.subarray(start, reader.pos);
}

function wireOf(field: DescField): WireType {
  const kind = kindOf(field);
  const isDelimited = kind === "string" || kind === "message" || kind === "timestamp";
  return isDelimited ? WireType.LengthDelimited : WireType.Varint;
}

function requireUtf8(chunk: Uint8Array, member: string): void {
  faults("is not UTF-8", () => utf8.decode(chunk), member);
}

/** What the attempt gives; its failure is a fault of the octets. */
function faults<T>(sentence: string, attempt: () => T, member?: string): T {
  try {
    return attempt();
  } catch (error) {
    // What the reader throws at the end of the octets.
    if (error instanceof RangeError) throw new MessageFault("is cut short");
    throw new MessageFault(sentence, member === undefined ? {} : { member });
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const none = new Uint8Array();
/** More than any message of ours holds: the longest lists are names of one certificate. */
const fieldsMax = 20_000;
