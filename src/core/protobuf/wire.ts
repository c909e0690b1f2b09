/** The binary form of protobuf (proto3), by the library, within limits the library has not. */

import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

import { requireReadable } from "./limits.ts";
import type { Message, ProtoSchema } from "./schema.ts";
import { messageOf, valuesOf } from "./values.ts";

/**
 * The octets of a message; throws for a value its field cannot have, which is a bug of the caller.
 */
export function encodeMessage(schema: ProtoSchema, name: string, message: Message): Uint8Array {
  const type = schema.type(name);
  return toBinary(type, messageOf(type, message));
}

/**
 * The message of some octets, in time proportional to their number. Unknown fields are skipped, as
 * the format wants; throws `MessageFault` for octets that are no such message or beyond its limits.
 */
export function decodeMessage(schema: ProtoSchema, name: string, octets: Uint8Array): Message {
  const type = schema.type(name);
  requireReadable(type, octets);
  return valuesOf(type, fromBinary(type, octets, { readUnknownFields: false }));
}

/** One field whose value are these octets. */
export const delimited = (number: number, octets: Uint8Array): Uint8Array =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(octets).finish();
