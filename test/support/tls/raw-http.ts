/** Speaks HTTP in raw octets, to send what no client library would. */

import { connect } from "node:net";

/**
 * Sends `octets` and gives everything that comes back until the server closes, or until `enough`
 * matches. `where` is a port on loopback or the path of a Unix socket.
 */
export function rawExchange(
  where: number | string,
  octets: string | Uint8Array,
  enough: RegExp = /\r\n\r\n[\s\S]*$/,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket =
      typeof where === "number" ? connect(where, "127.0.0.1") : connect({ path: where });
    let answer = "";
    socket.once("connect", () => socket.write(octets));
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1");
      if (enough.test(answer)) socket.destroy();
    });
    socket.once("close", () => resolve(answer));
    socket.once("error", (error) => (answer === "" ? reject(error) : resolve(answer)));
  });
}
