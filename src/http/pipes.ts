/**
 * Carries the octets of each client to a server of its own and back, and lets go of clients that do
 * neither.
 */

import { connect, type Socket } from "node:net";

import type { ClientCertificate } from "#domain/access/client-certificates.ts";

import type { Door } from "./pipe-doors.ts";

/** Who is at the other end of a connection. */
export interface Client {
  /** Address of the socket's peer, empty on a Unix socket. */
  readonly peer: string;
  /** One object for the whole connection; undefined without a certificate. */
  readonly certificate: ClientCertificate | undefined;
}

export interface PipesOptions {
  /** How long a client may take nothing of what waits for it, and ask for nothing. */
  readonly idle_timeout_seconds: number;
  /** Opens a server for one client alone; may throw, which closes the connection. */
  readonly openDoor: (client: Client) => Door;
}

/** The connections of one listener. */
export class Pipes {
  readonly #options: PipesOptions;
  readonly #open = new Map<Socket, Connection>();
  readonly #watch: Timer;

  constructor(options: PipesOptions) {
    this.#options = options;
    this.#watch = setInterval(() => this.#cutStalled(), watchMs);
    this.#watch.unref();
  }

  /** Takes over a connection, which must be allowed to be half open. */
  accept(socket: Socket, client: Client): void {
    const door = this.#doorFor(client);
    if (door === undefined) return void socket.destroy();
    const pipe = connect({ path: door.path, allowHalfOpen: true });
    this.#open.set(socket, { pipe, door, moved: 0, at: performance.now() });
    pipe.once("connect", () => {
      if (socket.destroyed) return void pipe.destroy();
      socket.pipe(pipe);
      pipe.pipe(socket);
    });
    // The server has closed and reads no more.
    pipe.once("end", () => pipe.destroy());
    socket.on("error", () => pipe.destroy());
    // What it brought before still goes to the client; that it is closed is told next.
    pipe.on("error", () => {});
    socket.once("close", () => {
      this.#open.delete(socket);
      pipe.destroy();
    });
    pipe.once("close", () => {
      door.close();
      endSoon(socket);
    });
  }

  /** Waits until what the server has said is sent, for at most so long, and closes what is left. */
  async close(timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    // What was never asked anything has nothing to say; the server need not even know of it.
    const sending = () =>
      [...this.#open].some(
        ([socket, { pipe }]) => pipe.bytesWritten > 0 && !socket.writableFinished,
      );
    while (sending() && performance.now() < deadline) await Bun.sleep(5);
    clearInterval(this.#watch);
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #doorFor(client: Client): Door | undefined {
    try {
      return this.#options.openDoor(client);
    } catch {
      return undefined; // No descriptors are left; the client may come again.
    }
  }

  /**
   * Lets go of clients that take nothing of what is written to them, and of those that ask for
   * nothing. While a pipe is paused for such a client nobody hears that it was closed.
   */
  #cutStalled(): void {
    const now = performance.now();
    for (const [socket, connection] of this.#open) {
      const moved = socket.bytesWritten + connection.pipe.bytesWritten;
      const waits = connection.door.busy && socket.writableLength === 0;
      if (waits || moved !== connection.moved) {
        connection.moved = moved;
        connection.at = now;
      } else if (now - connection.at > this.#options.idle_timeout_seconds * 1000) socket.destroy();
    }
  }
}

/** The server has ended: the client gets what is left, and then has a moment to close. */
function endSoon(socket: Socket): void {
  if (socket.destroyed) return;
  socket.end(() => {
    const linger = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(linger));
  });
}

/** A pipe, and when how many octets had moved either way. */
interface Connection {
  readonly pipe: Socket;
  readonly door: Door;
  moved: number;
  at: number;
}

const lingerMs = 5000;
const watchMs = 1000;
