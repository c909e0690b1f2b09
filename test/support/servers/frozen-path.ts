/**
 * A TCP path to a server of the test's own that can fall silent without closing, as a firewall or a
 * dead link does.
 */

import { connect, createServer, type Socket } from "node:net";

export interface FrozenPath {
  readonly port: number;
  /**
   * Nothing passes any more: over all connections and new ones, or over those that said such a
   * thing.
   */
  freeze(said?: (text: string) => boolean): void;
  /** Every connection falls silent that says such a thing from now on, before it is passed on. */
  freezeWhoSays(said: (text: string) => boolean): void;
  /** Everything passes again, what was kept back included. */
  thaw(): void;
  close(): void;
}

/** Opens the path to a port on loopback. */
export async function openPath(target: number): Promise<FrozenPath> {
  const pairs = new Set<Pair>();
  let frozen = false;
  let silenced = (_said: string) => false;
  const server = createServer((client) => {
    const pair = new Pair(client, connect(target, "127.0.0.1"), {
      silenced: (said) => silenced(said),
      ended: () => pairs.delete(pair),
    });
    pairs.add(pair);
    if (frozen) pair.freeze();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the path has no port");
  return {
    port: address.port,
    freeze: (said) => {
      frozen = said === undefined;
      for (const pair of pairs) if (said === undefined || said(pair.said)) pair.freeze();
    },
    freezeWhoSays: (said) => {
      silenced = said;
    },
    thaw: () => {
      frozen = false;
      silenced = () => false;
      for (const pair of pairs) pair.thaw();
    },
    close: () => {
      server.close();
      for (const pair of pairs) pair.end();
    },
  };
}

/** One connection through the path. */
class Pair {
  readonly #client: Socket;
  readonly #server: Socket;
  #frozen = false;
  /** What came before the silence and was not passed on. */
  readonly #kept: (() => void)[] = [];
  /** What the client has sent, its first 64 KiB. */
  said = "";

  constructor(
    client: Socket,
    server: Socket,
    { silenced, ended }: { silenced: (said: string) => boolean; ended: () => void },
  ) {
    this.#client = client;
    this.#server = server;
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on("error", () => from.destroy());
      from.on("close", () => {
        to.destroy();
        ended();
      });
      from.on("data", (octets: Buffer) => {
        if (from === client && this.said.length < 65_536) this.said += octets.toString("latin1");
        if (from === client && silenced(this.said)) this.freeze();
        if (this.#frozen) this.#kept.push(() => to.write(octets));
        else to.write(octets);
      });
    }
  }

  freeze(): void {
    this.#frozen = true;
    this.#client.pause();
    this.#server.pause();
  }

  thaw(): void {
    if (!this.#frozen) return;
    this.#frozen = false;
    for (const pass of this.#kept.splice(0)) pass();
    this.#client.resume();
    this.#server.resume();
  }

  end(): void {
    this.#client.destroy();
    this.#server.destroy();
  }
}
