/**
 * The three ways one unary call travels: Connect with JSON or protobuf, gRPC-Web in octets or in
 * base64.
 */

import { readMessageJson, messageJson } from "#core/protobuf/json.ts";
import { type Message, MessageFault, type ProtoSchema } from "#core/protobuf/schema.ts";
import { decodeMessage, encodeMessage } from "#core/protobuf/wire.ts";
import { refuse } from "#core/problems.ts";
import { parseJsonOfAnyLength } from "#http/body.ts";

import { connectErrorJson, grpcStatus, type RpcError } from "./errors.ts";

/** A message type of a schema. */
export interface MessageType {
  readonly schema: ProtoSchema;
  readonly name: string;
}

/** One way: how a request is read and an answer or a refusal written. */
export interface RpcProtocol {
  /**
   * The message of a body. Refuses `malformed_json`, and `invalid_field` for octets that are no
   * such message.
   */
  read(type: MessageType, body: Uint8Array): Promise<Message>;
  answer(type: MessageType, message: Message): Response;
  refusal(error: RpcError): Response;
}

/**
 * The way a request came. Refuses `unsupported_media_type` for any other, and for compressed
 * bodies.
 */
export function protocolOf(headers: Headers): RpcProtocol {
  return knownBy(headers, protocols);
}

/** What a table has for the media type of a request that is not compressed. */
export function knownBy<T>(headers: Headers, table: ReadonlyMap<string, T>): T {
  const type = (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const encoding = headers.get("content-encoding") ?? "identity";
  const found = table.get(type);
  if (found !== undefined && encoding === "identity") return found;
  const expected = [...table.keys()].join(", ");
  throw refuse("unsupported_media_type", { expected }, whyNot(type, encoding));
}

/** What a client has to change. */
function whyNot(type: string, encoding: string): string {
  if (encoding !== "identity")
    return "Compressed requests are not accepted; send them as they are.";
  if (/^application\/grpc(\+|$)/.test(type)) {
    return "Native gRPC needs HTTP/2, which this listener does not speak; use Connect or gRPC-Web.";
  }
  return type === "" ? "The request has no Content-Type." : "This media type is not accepted.";
}

/** What answers when a request came in no known way. */
export const plainConnect: RpcProtocol = {
  read: async ({ schema, name }, body) => {
    const value = body.length === 0 ? {} : await parseJsonOfAnyLength(body);
    return faultsRefused(() => readMessageJson(schema, name, value));
  },
  answer: ({ schema, name }, message) =>
    answered("application/json", JSON.stringify(messageJson(schema, name, message))),
  refusal: connectRefusal,
};

const binaryConnect: RpcProtocol = {
  read: async ({ schema, name }, body) => faultsRefused(() => decodeMessage(schema, name, body)),
  answer: ({ schema, name }, message) =>
    answered("application/proto", encodeMessage(schema, name, message)),
  refusal: connectRefusal,
};

function connectRefusal(error: RpcError): Response {
  const extra = {
    ...(error.retryAfter === undefined ? {} : { "retry-after": String(error.retryAfter) }),
  };
  return answered("application/json", connectErrorJson(error), error.httpStatus, extra);
}

/** gRPC-Web: frames of a flag octet, a length and a message; the last one holds the trailers. */
function grpcWeb(contentType: string, isText: boolean): RpcProtocol {
  const framed = (...frames: Uint8Array[]): Response => {
    const body = Buffer.concat(frames);
    return answered(contentType, isText ? body.toString("base64") : new Uint8Array(body));
  };
  return {
    read: async ({ schema, name }, body) =>
      faultsRefused(() => decodeMessage(schema, name, onlyFrame(isText ? fromBase64(body) : body))),
    answer: ({ schema, name }, message) =>
      framed(frame(0, encodeMessage(schema, name, message)), trailers(undefined)),
    refusal: (error) => framed(trailers(error)),
  };
}

/** The frame that ends an answer of gRPC-Web. */
export function trailers(error: RpcError | undefined): Uint8Array {
  if (error === undefined) return frame(trailerFlag, Buffer.from("grpc-status: 0\r\n"));
  const message = encodeURIComponent(error.message);
  const details = Buffer.from(grpcStatus(error)).toString("base64").replace(/=+$/, "");
  const lines = [
    `grpc-status: ${error.number}`,
    `grpc-message: ${message}`,
    `grpc-status-details-bin: ${details}`,
  ];
  return frame(trailerFlag, Buffer.from(`${lines.join("\r\n")}\r\n`));
}

/** A frame: a flag octet, the length, and the content. */
export function frame(flag: number, content: Uint8Array): Uint8Array {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag, 0);
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}

/** A unary request is exactly one frame that is not compressed. */
export function onlyFrame(body: Uint8Array): Uint8Array {
  const octets = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (((octets[0] ?? 0) & compressedFlag) !== 0) {
    throw new MessageFault("is a compressed frame, which is not accepted");
  }
  if (octets.length < 5 || octets[0] !== 0 || octets.readUInt32BE(1) !== octets.length - 5) {
    throw new MessageFault("is not one uncompressed frame");
  }
  return octets.subarray(5);
}

/**
 * Clients may pad and concatenate pieces; as many as streaming makes of a message, not one for
 * every octet of it.
 */
export function fromBase64(body: Uint8Array): Uint8Array {
  const text = new TextDecoder("latin1").decode(body);
  if (text.split("=", paddingMax + 2).length > paddingMax + 1) {
    throw new MessageFault("has too many pieces");
  }
  const pieces = text.match(/[^=]+={0,2}/g) ?? [];
  try {
    return Buffer.concat(pieces.map((piece) => Uint8Array.fromBase64(piece)));
  } catch {
    throw new MessageFault("is not base64");
  }
}

/** What the attempt gives; refuses what is wrong with a message. */
export function faultsRefused<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof MessageFault)) throw error;
    const { member: field = "", unknown, message: reason } = error;
    throw unknown
      ? refuse("unknown_field", { field: field.slice(0, 200) })
      : refuse("invalid_field", { field, reason });
  }
}

function answered(
  contentType: string,
  body: string | Uint8Array,
  status = 200,
  extra: Readonly<Record<string, string>> = {},
): Response {
  const length = String(typeof body === "string" ? Buffer.byteLength(body) : body.byteLength);
  const headers = { "content-type": contentType, "content-length": length, ...noStore, ...extra };
  // The DOM types want an ArrayBuffer of its own; Bun sends any view of octets.
  return new Response(body as string | Uint8Array<ArrayBuffer>, { status, headers });
}

const protocols: ReadonlyMap<string, RpcProtocol> = new Map([
  ["application/json", plainConnect],
  ["application/proto", binaryConnect],
  ["application/grpc-web", grpcWeb("application/grpc-web+proto", false)],
  ["application/grpc-web+proto", grpcWeb("application/grpc-web+proto", false)],
  ["application/grpc-web-text", grpcWeb("application/grpc-web-text+proto", true)],
  ["application/grpc-web-text+proto", grpcWeb("application/grpc-web-text+proto", true)],
]);
/** Padding characters in one body. */
const paddingMax = 1000;
const compressedFlag = 0x01;
const trailerFlag = 0x80;
const noStore = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};
