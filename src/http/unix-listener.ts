/**
 * Serves what the main listener serves on a Unix socket too: for a proxy or a program on this
 * machine, never as an administrator.
 */

import { chmodSync, chownSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";

import type { FrontDoor } from "./front-door.ts";
import { PipeDoors } from "./pipe-doors.ts";
import { Pipes } from "./pipes.ts";
import type { TimeLimits } from "./port.ts";
import { boundPrivately, removeStaleSocket } from "./unix-door.ts";

export interface UnixListenerOptions extends TimeLimits {
  readonly path: string;
  /** Permission bits of the socket: who may connect. */
  readonly mode: number;
  /** The group it belongs to; the process's own without it. */
  readonly groupId: number | undefined;
  /** As for the main listener. */
  readonly privateDirectory: string | undefined;
  /** Connections at the same time; 10,000 without it. */
  readonly connectionsMax?: number | undefined;
}

/**
 * A client there is whoever its credential says, and without one nobody: the socket proves nothing.
 * Its connections are piped to servers of their own because the runtime's timer of a single request
 * does nothing on Unix sockets.
 */
export class UnixListener {
  readonly #options: UnixListenerOptions;
  #server: Server;
  readonly #doors: PipeDoors;
  readonly #pipes: Pipes;

  /**
   * Throws when another server answers there, when the path is taken, and when the group cannot be
   * given.
   */
  static async open(front: FrontDoor, options: UnixListenerOptions): Promise<UnixListener> {
    await removeStaleSocket(options.path, "unix socket");
    const doors = new PipeDoors(front, options, options.privateDirectory, "unix-pipes");
    try {
      return new UnixListener(doors, options);
    } catch (error) {
      await doors.close();
      throw error;
    }
  }

  private constructor(doors: PipeDoors, options: UnixListenerOptions) {
    this.#options = options;
    this.#doors = doors;
    this.#pipes = new Pipes({
      idle_timeout_seconds: options.idle_timeout_seconds,
      openDoor: (client) => doors.open({ side: "main", secure: false, ...client }),
    });
    this.#server = this.#listen();
  }

  /** Requests whose answers have not left yet. */
  get pending(): number {
    return this.#doors.pending;
  }

  /** Opens the socket again after its file was removed; connections that exist stay open. */
  async reopen(): Promise<void> {
    await removeStaleSocket(this.#options.path, "unix socket");
    // Its end must not remove the new file.
    this.#server.close();
    this.#server = this.#listen();
  }

  /** Closes every connection, after what was written has been sent or the time is over. */
  async close(timeoutMs: number): Promise<void> {
    this.#stopListening(this.#server);
    await this.#doors.close();
    await this.#pipes.close(timeoutMs);
  }

  #listen(): Server {
    const { path, mode, groupId, connectionsMax = usualConnectionsMax } = this.#options;
    const server = createServer({ allowHalfOpen: true }, (socket) =>
      this.#pipes.accept(socket, { peer: "", certificate: undefined }),
    );
    server.maxConnections = connectionsMax;
    boundPrivately(path, 0o600, () => server.listen(path));
    try {
      if (groupId !== undefined) chownSync(path, process.getuid?.() ?? 0, groupId);
      chmodSync(path, mode);
      return server;
    } catch (error) {
      this.#stopListening(server);
      throw error;
    }
  }

  #stopListening(server: Server): void {
    server.close();
    rmSync(this.#options.path, { force: true });
  }
}

const usualConnectionsMax = 10_000;
