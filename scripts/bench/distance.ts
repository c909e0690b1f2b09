/**
 * A network between two programs of one machine: `distance.ts <port> <milliseconds>` passes octets
 * on to that port of 127.0.0.1, each way so much later, in their order. Says the port it listens
 * on.
 */

import { createServer, connect, type Socket } from "node:net";

const [port = 0, delayMs = 0] = process.argv.slice(2).map(Number);

const server = createServer({ noDelay: true }, (near) => {
  const far = connect({ host: "127.0.0.1", port, noDelay: true });
  later(near, far);
  later(far, near);
}).listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(typeof address === "object" ? address?.port : 0);
});

/** Timers of one delay fire in the order in which they were set. */
function later(from: Socket, to: Socket): void {
  from.on("data", (octets) => void setTimeout(() => to.write(octets), delayMs));
  from.on("end", () => void setTimeout(() => to.end(), delayMs));
  from.on("error", () => to.destroy());
}
