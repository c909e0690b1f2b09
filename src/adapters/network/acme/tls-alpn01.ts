/** Proof by tls-alpn-01: the certificate shown for the protocol of ACME (RFC 8737, 8738). */

import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

import {
  type Heard,
  type Hello,
  clientHello,
  readServerHello,
} from "#core/acme/clear-handshake.ts";
import { judgeAlpnCertificate } from "#core/acme/challenges.ts";
import { type Identifier, reverseName } from "#core/acme/identifiers.ts";

import type { Random } from "#domain/ports.ts";

import type { AttemptAddresses } from "./addresses.ts";
import { type Destination, isKeyUsageFault, openConnection, startTls } from "./connection.ts";
import { type Deadline, within } from "./deadline.ts";
import { timeUp, ValidationFault } from "./fault.ts";

export interface AlpnProof {
  readonly identifier: Identifier;
  readonly keyAuthorization: string;
}

export interface AlpnDeps {
  readonly addresses: AttemptAddresses;
  readonly deadline: Deadline;
  readonly port: number;
  readonly random: Pick<Random, "bytes">;
}

/**
 * The address that was connected to, when the server agrees on `acme-tls/1` and shows a certificate
 * with the proof; nothing is sent over the connection. Throws ValidationFault.
 */
export async function proveByAlpn(
  { identifier, keyAuthorization }: AlpnProof,
  { addresses, deadline, port, random }: AlpnDeps,
): Promise<readonly string[]> {
  const destination = await addresses.destination(identifier.value, port);
  // RFC 8738 §6: an address is asked for by its name in the reverse zones.
  const name = identifier.type === "ip" ? reverseName(identifier.value) : identifier.value;
  const shown = await shownTo(name, destination, deadline.signal).catch((error: unknown) => {
    // Some clients show an RSA key that may encrypt and not sign; the library goes no further.
    if (!isKeyUsageFault(error)) throw error;
    const hello = { name, protocol: acmeTls, random: random.bytes(32) };
    return shownInTheClear(hello, destination, deadline.signal);
  });
  if (shown.certificate === undefined) {
    throw new ValidationFault("tls", `The server did not agree on the protocol ${acmeTls}.`);
  }
  const reason = judgeAlpnCertificate(shown.certificate, identifier, keyAuthorization);
  if (reason === undefined) return [shown.address];
  throw new ValidationFault("incorrectResponse", reason);
}

/** What a server has shown. */
interface Shown {
  readonly address: string;
  /** DER; undefined where the protocol was not agreed on. */
  readonly certificate: Uint8Array | undefined;
}

async function shownTo(
  name: string,
  destination: Destination,
  signal: AbortSignal,
): Promise<Shown> {
  const connection = await openConnection(destination, signal);
  try {
    const secured = await startTls(connection, { name, protocol: acmeTls }, signal);
    const agreed = secured.alpnProtocol === acmeTls;
    const certificate = agreed ? secured.getPeerX509Certificate()?.raw : undefined;
    await within(farewell(secured), signal, () => timeUp("the TLS handshake was done"));
    return { address: connection.address, certificate };
  } finally {
    connection.socket.destroy();
  }
}

/** The same by TLS 1.2, where certificates are in the clear, of a handshake that ends there. */
async function shownInTheClear(
  hello: Hello,
  destination: Destination,
  signal: AbortSignal,
): Promise<Shown> {
  const { socket, address } = await openConnection(destination, signal);
  try {
    const heard = await within(answerTo(clientHello(hello), socket), signal, () =>
      timeUp("the TLS handshake was done"),
    );
    if (heard.kind !== "shown") throw new ValidationFault("tls", "The TLS handshake failed.");
    const agreed = heard.protocol === hello.protocol;
    return { address, certificate: agreed ? heard.certificate : undefined };
  } finally {
    socket.destroy();
  }
}

/** What the server says, as soon as it has said enough, or all it will. */
function answerTo(octets: Uint8Array, socket: Socket): Promise<Heard> {
  const { promise, resolve } = Promise.withResolvers<Heard>();
  let received = Buffer.alloc(0);
  let least = 0;
  socket.on("data", (more: Buffer) => {
    received = Buffer.concat([received, more]);
    if (received.length < least) return;
    const heard = readServerHello(received);
    if (heard.kind === "more") least = heard.least;
    else resolve(heard);
  });
  socket.on("close", () => resolve({ kind: "refused" }));
  socket.write(octets);
  return promise;
}

/**
 * Ends in turn: a socket destroyed at once takes the last message of the handshake with it, and the
 * server would take the attempt for one that failed.
 */
const farewell = (secured: TLSSocket): Promise<void> =>
  new Promise((done) => {
    secured.once("close", () => done());
    secured.end(() => done());
  });

/** RFC 8737 §6.2. */
const acmeTls = "acme-tls/1";
