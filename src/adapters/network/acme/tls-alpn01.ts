/** Proof by tls-alpn-01: the certificate shown for the protocol of ACME (RFC 8737, 8738). */

import type { TLSSocket } from "node:tls";

import { judgeAlpnCertificate } from "#core/acme/challenges.ts";
import { type Identifier, reverseName } from "#core/acme/identifiers.ts";

import type { AttemptAddresses } from "./addresses.ts";
import { openConnection, startTls } from "./connection.ts";
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
}

/**
 * The address that was connected to, when the server agrees on `acme-tls/1` and shows a certificate
 * with the proof; nothing is sent over the connection. Throws ValidationFault.
 */
export async function proveByAlpn(
  { identifier, keyAuthorization }: AlpnProof,
  { addresses, deadline, port }: AlpnDeps,
): Promise<readonly string[]> {
  const destination = await addresses.destination(identifier.value, port);
  const connection = await openConnection(destination, deadline.signal);
  try {
    // RFC 8738 §6: an address is asked for by its name in the reverse zones.
    const name = identifier.type === "ip" ? reverseName(identifier.value) : identifier.value;
    const secured = await startTls(connection, { name, protocol: acmeTls }, deadline.signal);
    const agreed = secured.alpnProtocol === acmeTls;
    const certificate = agreed ? secured.getPeerX509Certificate()?.raw : undefined;
    await within(farewell(secured), deadline.signal, () => timeUp("the TLS handshake was done"));
    if (certificate === undefined) {
      throw new ValidationFault("tls", `The server did not agree on the protocol ${acmeTls}.`);
    }
    const reason = judgeAlpnCertificate(certificate, identifier, keyAuthorization);
    if (reason === undefined) return [connection.address];
    throw new ValidationFault("incorrectResponse", reason);
  } finally {
    connection.socket.destroy();
  }
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
