/**
 * The ways a stream of messages travels, each in a frame of its own: Connect with JSON or protobuf,
 * gRPC-Web in octets or in base64.
 */

import { messageJson, readMessageJson } from "#core/protobuf/json.ts";
import type { Message } from "#core/protobuf/schema.ts";
import { decodeMessage, encodeMessage } from "#core/protobuf/wire.ts";
import { parseJsonOfAnyLength } from "#http/body.ts";

import { connectErrorJson, type RpcError } from "./errors.ts";
import {
  faultsRefused,
  frame,
  fromBase64,
  knownBy,
  type MessageType,
  onlyFrame,
  trailers,
} from "./protocols.ts";

/** One way: how the request is read, and each message and the end are written. */
export interface RpcStreaming {
  readonly contentType: string;
  /** As `RpcProtocol.read`. */
  read(type: MessageType, body: Uint8Array): Promise<Message>;
  message(type: MessageType, message: Message): Uint8Array;
  /** Last of all; what went wrong, where something did. */
  end(error: RpcError | undefined): Uint8Array;
  /** An answer of nothing but its end. */
  refusal(error: RpcError): Response;
}

/** The way a request came. Refuses `unsupported_media_type` for any other. */
export const streamingOf = (headers: Headers): RpcStreaming => knownBy(headers, ways);

/** An answer that goes on; no proxy may hold it back. */
export const streamHeaders = (contentType: string) => ({
  "content-type": contentType,
  "cache-control": "no-cache",
  "x-accel-buffering": "no",
});

type Way = Omit<RpcStreaming, "refusal">;

/** What is refused is told at the end of a stream that has nothing before it. */
const refusing = (way: Way): RpcStreaming => ({
  ...way,
  refusal: (error) => {
    // The DOM types want an ArrayBuffer of its own; Bun sends any view of octets.
    const end = way.end(error) as Uint8Array<ArrayBuffer>;
    const headers = streamHeaders(way.contentType);
    return new Response(end, { headers: { ...headers, "content-length": `${end.byteLength}` } });
  },
});

/** The last frame of a stream of Connect is JSON, whatever the messages are. */
const connectEnd = (error: RpcError | undefined): Uint8Array => {
  const text = error === undefined ? "{}" : `{"error":${connectErrorJson(error)}}`;
  return frame(endFlag, Buffer.from(text));
};

const connectJson = refusing({
  contentType: "application/connect+json",
  read: async ({ schema, name }, body) => {
    const octets = faultsRefused(() => onlyFrame(body));
    const value = octets.length === 0 ? {} : await parseJsonOfAnyLength(octets);
    return faultsRefused(() => readMessageJson(schema, name, value));
  },
  message: ({ schema, name }, message) =>
    frame(0, Buffer.from(JSON.stringify(messageJson(schema, name, message)))),
  end: connectEnd,
});

const connectProto = refusing({
  contentType: "application/connect+proto",
  read: async ({ schema, name }, body) =>
    faultsRefused(() => decodeMessage(schema, name, onlyFrame(body))),
  message: ({ schema, name }, message) => frame(0, encodeMessage(schema, name, message)),
  end: connectEnd,
});

const grpcWeb = (contentType: string, isText: boolean): RpcStreaming => {
  // Each piece is padded by itself, so that none waits for the next.
  const written = (octets: Uint8Array) =>
    isText ? Buffer.from(Buffer.from(octets).toString("base64")) : octets;
  return refusing({
    contentType,
    read: async ({ schema, name }, body) =>
      faultsRefused(() => decodeMessage(schema, name, onlyFrame(isText ? fromBase64(body) : body))),
    message: ({ schema, name }, message) => written(frame(0, encodeMessage(schema, name, message))),
    end: (error) => written(trailers(error)),
  });
};

const ways: ReadonlyMap<string, RpcStreaming> = new Map([
  ["application/connect+json", connectJson],
  ["application/connect+proto", connectProto],
  ["application/grpc-web", grpcWeb("application/grpc-web+proto", false)],
  ["application/grpc-web+proto", grpcWeb("application/grpc-web+proto", false)],
  ["application/grpc-web-text", grpcWeb("application/grpc-web-text+proto", true)],
  ["application/grpc-web-text+proto", grpcWeb("application/grpc-web-text+proto", true)],
]);
const endFlag = 0x02;
