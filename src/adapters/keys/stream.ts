/** The socket between server and signer: one end of a socket pair, held as a descriptor. */

import type { Socket } from "bun";

import { Outbox } from "./frames.ts";

/** What happens on the socket. */
export interface StreamEvents {
  received(chunk: Buffer, outbox: Outbox): void;
  /** The peer is gone or the socket failed; may be called more than once. */
  closed(): void;
}

/** An open socket with its outbox. */
export interface Stream {
  readonly outbox: Outbox;
  end(): void;
}

/** Takes over the descriptor of a connected socket. */
export async function openStream(fd: number, events: StreamEvents): Promise<Stream> {
  let known: Outbox | undefined;
  const outboxOf = (socket: Socket): Outbox => {
    known ??= new Outbox(socket);
    return known;
  };
  const options = {
    fd,
    socket: {
      data: (socket: Socket, chunk: Buffer) => events.received(chunk, outboxOf(socket)),
      drain: (socket: Socket) => outboxOf(socket).drained(),
      close: () => events.closed(),
      error: () => events.closed(),
    },
  };
  // The runtime declares FdSocketOptions but leaves it out of the overloads of `connect`.
  const socket = await Bun.connect(options as unknown as Bun.UnixSocketOptions);
  return { outbox: outboxOf(socket), end: () => socket.terminate() };
}
