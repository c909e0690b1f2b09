/**
 * What a generated table of protobuf messages says: fields by number, name, kind and how often they
 * occur.
 */

/**
 * Number, name, kind, and how often; kinds are scalars, `timestamp`, or the name of a message or an
 * enum.
 */
export type FieldRow = readonly [
  number: number,
  name: string,
  kind: string,
  occurs?: "optional" | "repeated",
];

/** The messages and enums of one .proto file. */
export interface ProtoSchema {
  readonly messages: Readonly<Record<string, readonly FieldRow[]>>;
  /** Names by number, which count up from 0. */
  readonly enums: Readonly<Record<string, readonly string[]>>;
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

/** The fields of a message; the name comes from the same schema. */
export function fieldsOf(schema: ProtoSchema, name: string): readonly FieldRow[] {
  const fields = schema.messages[name];
  if (fields === undefined) throw new Error(`the schema has no message ${name}`);
  return fields;
}

/**
 * True for what a message without presence leaves out: empty text, 0, false and the first name of
 * an enum.
 */
export function isDefault(schema: ProtoSchema, kind: string, value: MessageValue): boolean {
  if (value === "" || value === 0 || value === false) return true;
  return typeof value === "string" && schema.enums[kind]?.[0] === value;
}

/** Deepest nesting of messages that is read. */
export const depthMax = 16;
