/** A free port for a program that takes its port as an argument. */

import { createServer } from "node:net";

/**
 * Returns a port of the loopback address that no socket uses. The port is outside the range from
 * which the kernel assigns ports, so that no other connection takes it before the program starts.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = lowestPort + Math.floor(Math.random() * portCount);
    if (await canListen(port)) return port;
  }
}

function canListen(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const probe = createServer();
  probe.once("error", () => resolve(false));
  probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  return promise;
}

const lowestPort = 20_000;
/** Linux assigns ports from 32,768 on. */
const portCount = 12_000;
