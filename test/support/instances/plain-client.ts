/**
 * A client that keeps its connection until it is told that it closes, thinks between requests, and
 * forgives nothing: a library would quietly ask again.
 */

import { connect, type Socket } from "node:net";

export class PlainClient {
  readonly #port: number;
  readonly #path: string;
  #socket: Socket | undefined;
  #received = Buffer.alloc(0);
  #wake: () => void = () => {};

  constructor(port: number, path: string) {
    this.#port = port;
    this.#path = path;
  }

  /** The status of a whole answer; throws when the connection ends before that. */
  async ask(): Promise<number> {
    await Bun.sleep(Math.random() * thinkMsMax);
    const socket = this.#open();
    socket.write(`GET ${this.#path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    for (;;) {
      const head = /^HTTP\/1\.1 (\d+) [\s\S]*?\r\n\r\n/.exec(this.#received.toString("latin1"));
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head?.[0] ?? "")?.[1] ?? 0);
      if (head !== null && this.#received.length >= head[0].length + length) {
        this.#received = this.#received.subarray(head[0].length + length);
        if (/\r\nconnection: close/i.test(head[0])) this.close();
        return Number(head[1]);
      }
      if (socket.destroyed || socket.readableEnded) throw new Error("the connection ended");
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #open(): Socket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect(this.#port, "127.0.0.1");
    this.#socket = socket;
    this.#received = Buffer.alloc(0);
    socket.on("data", (octets: Buffer) => {
      this.#received = Buffer.concat([this.#received, octets]);
      this.#wake();
    });
    // An idle connection may be closed by either side (RFC 9112 §9.5); within a request it counts.
    for (const event of ["end", "close", "error"]) {
      socket.on(event, () => {
        if (this.#socket === socket) this.#socket = undefined;
        this.#wake();
      });
    }
    return socket;
  }
}

const thinkMsMax = 150;
