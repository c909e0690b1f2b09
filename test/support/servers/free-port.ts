/** A port nobody listens on, for whoever must be told one before it starts. */

import { createServer } from "node:net";

/** The kernel is asked for one, which is then given back. */
export function freePort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const address = probe.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    probe.close(() => resolve(port));
  });
  return promise;
}
