/**
 * TLS clients with and without a certificate, down to the octets, against a listener of this
 * process.
 */

import type { Socket } from "node:net";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";

import { encodePem } from "#core/asn1/pem.ts";

import type { ClientCertificate } from "./client-certificates.ts";

/** The material of a client as node:tls takes it. */
export const material = ({ chain, key }: ClientCertificate) => ({
  cert: chain.map((der) => encodePem("CERTIFICATE", der)).join(""),
  key: String(key.privateKey.export({ type: "pkcs8", format: "pem" })),
});

/** A connection whose handshake is over; it may stay half open. */
export function connected(
  port: number,
  client?: ClientCertificate,
  more: ConnectionOptions & { readonly localAddress?: string } = {},
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    // Handed on to the socket below, though the types of this call do not know it.
    const open = { allowHalfOpen: true };
    const options = { host: "127.0.0.1", port, rejectUnauthorized: false, ...open };
    const socket = connect({ ...options, ...(client && material(client)), ...more }, () =>
      resolve(socket),
    );
    socket.once("error", reject);
  });
}

/** Everything that comes until the other side closes, or until `enough` matches. */
export function heard(socket: Socket, enough?: RegExp): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.on("error", () => {}); // A reset ends it like an end does.
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (enough?.test(text)) resolve(text);
    });
    const end = () => {
      socket.destroy();
      resolve(text);
    };
    socket.once("end", end);
    socket.once("close", end);
  });
}

/** One exchange on a connection of its own. */
export async function spoken(
  port: number,
  octets: string,
  client?: ClientCertificate,
): Promise<string> {
  const socket = await connected(port, client);
  socket.write(octets);
  return heard(socket);
}
