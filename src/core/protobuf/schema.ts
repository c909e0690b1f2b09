/** Types of messages, from the descriptor of a .proto file, and what pkid reads of them. */

import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { fileDesc } from "@bufbuild/protobuf/codegenv2";
import {
  file_google_protobuf_timestamp,
  TimestampSchema,
} from "@bufbuild/protobuf/wkt/google/protobuf/timestamp_pb.js";

/** The messages of one .proto file; made when first asked for, not at the start of a command. */
export class ProtoSchema {
  readonly #descriptor: string;
  #types: ReadonlyMap<string, DescMessage> | undefined;

  /** Takes a `google.protobuf.FileDescriptorProto` in base64, as `scripts/proto.ts` writes it. */
  constructor(descriptor: string) {
    this.#descriptor = descriptor;
  }

  /** By their names, without the package. */
  get types(): ReadonlyMap<string, DescMessage> {
    if (this.#types !== undefined) return this.#types;
    const { messages } = fileDesc(this.#descriptor, [file_google_protobuf_timestamp]);
    this.#types = new Map(messages.map((type) => [type.name, type]));
    return this.#types;
  }

  /** The type of this name, which is one of the file. */
  type(name: string): DescMessage {
    const type = this.types.get(name);
    if (type === undefined) throw new Error(`the schema has no message ${name}`);
    return type;
  }
}

/**
 * A message as values: text, truth, number (64-bit integers too, up to 2^53), the name of an enum,
 * RFC 3339 text of a timestamp, another message, or a list. Members are named as in the .proto
 * file; absent ones are absent or undefined.
 */
export type Message = { readonly [name: string]: MessageValue | undefined };
export type MessageValue = string | boolean | number | Message | readonly MessageValue[];

/** Octets or JSON that are no message of the type wanted; the sentence names no octet of them. */
export class MessageFault extends Error {
  override readonly name = "MessageFault";
  /** The member it is about, where it is about one. */
  readonly member: string | undefined;
  /** True for a member no such message has. */
  readonly unknown: boolean;

  constructor(
    sentence: string,
    about: { readonly member?: string; readonly unknown?: boolean } = {},
  ) {
    super(sentence);
    this.member = about.member;
    this.unknown = about.unknown ?? false;
  }
}

/** What one value of a field is. */
export type Kind = "string" | "bool" | "int32" | "int64" | "enum" | "timestamp" | "message";

/** The kind of a field, of one element of a list; throws for what no .proto of ours has. */
export function kindOf(field: DescField): Kind {
  if (field.message !== undefined) {
    return field.message.typeName === TimestampSchema.typeName ? "timestamp" : "message";
  }
  if (field.enum !== undefined) return "enum";
  const kind = field.scalar === undefined ? undefined : scalars.get(field.scalar);
  if (kind === undefined) throw new Error(`nothing reads the kind of ${field.name}`);
  return kind;
}

const scalars: ReadonlyMap<ScalarType, Kind> = new Map([
  [ScalarType.STRING, "string"],
  [ScalarType.BOOL, "bool"],
  [ScalarType.INT32, "int32"],
  [ScalarType.INT64, "int64"],
]);

/** Deepest nesting of messages that is read. */
export const depthMax = 16;
