/** Speaks HTTP over TLS in raw octets, to send what no client library would. */

import { connect, type TLSSocket } from "node:tls";

import type { Instance } from "#test/support/instances/instance.ts";

/**
 * Sends `octets`; gives everything that comes back until the server closes, or a `Connection:
 * close` does not come.
 */
export function rawOverTls(instance: Instance, octets: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connectTo(instance, () => socket.write(octets));
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1");
      if (lengthOfFirst(answer) !== undefined) socket.destroy();
    });
    socket.once("close", () => resolve(answer));
    socket.once("error", (error) => (answer === "" ? reject(error) : resolve(answer)));
  });
}

/**
 * Sends `octets` and listens until the server closes, at most so long; gives all that came, and
 * whether it closed.
 */
export function overheard(
  instance: Instance,
  octets: string | Uint8Array,
  milliseconds: number,
): Promise<{ readonly answer: string; readonly closed: boolean }> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connectTo(instance, () => socket.write(octets));
    const late = setTimeout(
      () => socket.destroy(resolve({ answer, closed: false }) as undefined),
      milliseconds,
    );
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1");
    });
    socket.on("error", () => {}); // What came before it counts.
    socket.once("close", () => {
      clearTimeout(late);
      resolve({ answer, closed: true });
    });
  });
}

/**
 * One connection for many requests, each sent when the one before has been answered; opened anew
 * when the server ends it.
 */
export class RawConnection {
  readonly #instance: Instance;
  #socket: TLSSocket | undefined;

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  /** The whole answer; what the server said before it closed, where it closed instead. */
  ask(octets: string | Uint8Array): Promise<string> {
    const socket = this.#socket ?? this.#opened();
    return new Promise((resolve) => {
      let answer = "";
      const done = () => {
        socket.off("data", take).off("close", done);
        // What the runtime refuses ends the connection a moment later.
        if (!/^HTTP\/1\.1 [23]|^HTTP\/1\.1 4(01|03|04|05)/.test(answer)) this.close();
        resolve(answer);
      };
      const take = (chunk: Buffer) => {
        answer += chunk.toString("latin1");
        if (lengthOfFirst(answer) !== undefined) done();
      };
      socket.on("data", take).once("close", done).write(octets);
    });
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #opened(): TLSSocket {
    const socket = connectTo(this.#instance, () => {});
    socket.on("error", () => {}); // Its end says the same.
    socket.once("close", () => {
      if (this.#socket === socket) this.#socket = undefined;
    });
    this.#socket = socket;
    return socket;
  }
}

function connectTo(instance: Instance, connected: () => void): TLSSocket {
  const port = Number(new URL(instance.url).port);
  const options = { host: "127.0.0.1", port, ca: instance.servingCa(), servername: "localhost" };
  return connect(options, connected);
}

/** Length of the first answer, when it is there as announced. */
function lengthOfFirst(text: string): number | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end))?.[1];
  const total = end + 4 + Number(length ?? "0");
  return text.length >= total ? total : undefined;
}
