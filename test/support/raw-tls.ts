/** Speaks HTTP over TLS in raw octets, to send what no client library would. */

import { connect } from "node:tls";

import type { Instance } from "./instance.ts";

/** Sends `octets`; gives everything that comes back until the server closes, or a `Connection: close` does not come. */
export function rawOverTls(instance: Instance, octets: string | Uint8Array): Promise<string> {
  const options = { host: "127.0.0.1", port: Number(new URL(instance.url).port) };
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect({ ...options, ca: instance.servingCa(), servername: "localhost" }, () =>
      socket.write(octets),
    );
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1");
      if (complete(answer)) socket.destroy();
    });
    socket.once("close", () => resolve(answer));
    socket.once("error", (error) => (answer === "" ? reject(error) : resolve(answer)));
  });
}

/** True when the last answer is there as announced, and none is to follow. */
function complete(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end))?.[1];
  return text.length >= end + 4 + Number(length ?? "0");
}
