/** Provides a TCP path whose server changes for new connections, as behind a virtual address. */

import { connect, createServer, type Socket } from "node:net";

export interface MovingPath {
  readonly port: number;
  /** Connects new clients to these ports on loopback in rotation; open connections remain. */
  move(...targets: readonly number[]): void;
  /** Number of connections that are open. */
  readonly size: number;
  close(): void;
}

/** Opens a path to a port on loopback. */
export async function openMovingPath(target: number): Promise<MovingPath> {
  const open = new Set<Socket>();
  let targets: readonly number[] = [target];
  let accepted = 0;
  const server = createServer((client) => {
    const port = targets[accepted++ % targets.length] ?? target;
    const upstream = connect(port, "127.0.0.1");
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on("data", (bytes) => to.write(bytes));
      from.on("error", () => from.destroy());
      from.on("close", () => {
        open.delete(client);
        to.destroy();
      });
    }
    open.add(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the path has no port");
  return {
    port: address.port,
    move: (...next) => {
      targets = next;
    },
    get size() {
      return open.size;
    },
    close: () => {
      server.close();
      for (const client of open) client.destroy();
    },
  };
}
