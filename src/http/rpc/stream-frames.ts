/** Writes the pieces of an operation's stream as frames of one protocol, and how it ends. */

import type { Problem } from "#core/problems.ts";
import type { Message } from "#core/protobuf/schema.ts";
import type { Source } from "#domain/access/outcome.ts";

import { rpcErrorOf } from "./errors.ts";
import type { MessageType } from "./protocols.ts";
import type { RpcStreaming } from "./streaming.ts";

/** What a piece comes to: messages, or that the stream ends, and why where it does not end well. */
export type Telling =
  | { readonly messages: readonly Message[] }
  | { readonly ends: Problem | undefined };

interface Framed {
  readonly source: Source<unknown>;
  readonly streaming: RpcStreaming;
  readonly type: MessageType;
  readonly method: { tell(piece: unknown): Telling };
  /** Told of what is no refusal. */
  readonly fault: (thrown: unknown) => void;
}

/** The octets to send, piece by piece; the last ones say how it ended. */
export function framesOf(of: Framed): Pick<Source<Uint8Array>, "next"> {
  let over = false;
  const ended = (error: unknown): Uint8Array => {
    over = true;
    return of.streaming.end(error === undefined ? undefined : rpcErrorOf(error));
  };
  return {
    next: async () => {
      if (over) return undefined;
      try {
        const piece = await of.source.next();
        if (piece === undefined) return ended(undefined);
        const told = of.method.tell(piece);
        if ("messages" in told) return written(of, told.messages);
        of.source.close();
        return ended(told.ends);
      } catch (thrown) {
        of.fault(thrown);
        return ended(thrown);
      }
    },
  };
}

const written = ({ streaming, type }: Framed, messages: readonly Message[]): Uint8Array =>
  Buffer.concat(messages.map((message) => streaming.message(type, message)));
