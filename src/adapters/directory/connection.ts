/**
 * Opens the connection to a directory server, encrypted and verified before anything else is said
 * on it.
 */

import { connect as connectPlain, isIP, type Socket } from "node:net";
import { checkServerIdentity, connect as connectTls, type TLSSocket } from "node:tls";

import { DirectoryFault } from "#domain/access/directory.ts";
import type { DirectoryServer, DirectoryTls } from "./settings.ts";

/** A connection on which a bind may be sent. The caller destroys the socket. */
export interface Opened {
  readonly socket: Socket;
  /** When the server's certificate ends, in epoch milliseconds; undefined without encryption. */
  readonly certificateEnds: number | undefined;
}

/**
 * Connects within what `signal` leaves of time. Throws `DirectoryFault`; a refused StartTLS is one
 * (fails closed).
 */
export async function openConnection(
  server: DirectoryServer,
  tls: DirectoryTls,
  signal: AbortSignal,
): Promise<Opened> {
  const { host, port, encryption } = server;
  if (encryption === "tls")
    return encrypted(server, tls, connectTls({ host, port, ...demands(server, tls) }), signal);
  const socket = connectPlain({ host, port });
  await event(socket, "connect", signal);
  if (encryption === "none") return { socket, certificateEnds: undefined };
  try {
    await startTls(socket, signal);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return encrypted(server, tls, connectTls({ socket, host, ...demands(server, tls) }), signal);
}

async function encrypted(
  server: DirectoryServer,
  tls: DirectoryTls,
  socket: TLSSocket,
  signal: AbortSignal,
): Promise<Opened> {
  await event(socket, "secureConnect", signal);
  const certificate = socket.getPeerCertificate();
  // Said by the runtime already; asked again, because everything hangs on it.
  const named = checkServerIdentity(nameOf(server, tls), certificate) === undefined;
  if (tls.verify && !(socket.authorized && named)) {
    socket.destroy();
    throw new DirectoryFault("the server's certificate is not trusted");
  }
  return { socket, certificateEnds: Date.parse(certificate.valid_to) };
}

function demands(server: DirectoryServer, { ca, minVersion, verify, ...tls }: DirectoryTls) {
  const name = nameOf(server, { ca, minVersion, verify, ...tls });
  return {
    ...(ca === undefined ? {} : { ca }),
    minVersion,
    rejectUnauthorized: verify,
    // RFC 6066 §3: an address is no server name.
    ...(isIP(name) === 0 ? { servername: name } : {}),
    checkServerIdentity: (_host: string, certificate: Parameters<typeof checkServerIdentity>[1]) =>
      verify ? checkServerIdentity(name, certificate) : undefined,
  };
}

const nameOf = ({ host }: DirectoryServer, { serverName }: DirectoryTls): string =>
  serverName ?? host;

/**
 * RFC 4511 §4.14. Spoken here and not by the client library: whatever an attacker appends to the
 * server's consent in clear must not be taken for something that was said under encryption.
 */
async function startTls(socket: Socket, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let read = Buffer.alloc(0);
  const take = (chunk: Buffer) => {
    read = Buffer.concat([read, chunk]);
    const said = consent(read);
    if (said === "yes") resolve();
    else if (said === "no") reject(new DirectoryFault("the server refuses StartTLS"));
  };
  const lost = () => reject(new DirectoryFault("the server ended the connection before StartTLS"));
  const late = () => reject(new DirectoryFault("the server did not answer in time"));
  socket.on("data", take).once("close", lost).once("error", lost);
  signal.addEventListener("abort", late, { once: true });
  try {
    socket.write(startTlsRequest);
    await promise;
  } finally {
    socket.off("data", take).off("close", lost).off("error", lost);
    signal.removeEventListener("abort", late);
  }
}

/**
 * Reads an ExtendedResponse to our message: `more` while it is not whole. Anything after it is not
 * consent.
 */
export function consent(octets: Uint8Array): "yes" | "no" | "more" {
  const message = element(octets, 0);
  if (message === "more") return octets.length > responseMax ? "no" : "more";
  if (message === undefined || message.tag !== 0x30 || message.end !== octets.length) return "no";
  const id = inside(octets, message.start, message.end);
  if (id?.tag !== 0x02 || id.end - id.start !== 1 || octets[id.start] !== 1) return "no";
  const response = inside(octets, id.end, message.end);
  if (response?.tag !== 0x78) return "no";
  const code = inside(octets, response.start, response.end);
  const success = code?.tag === 0x0a && code.end - code.start === 1 && octets[code.start] === 0;
  return success ? "yes" : "no";
}

interface Element {
  readonly tag: number;
  readonly start: number;
  readonly end: number;
}

function inside(octets: Uint8Array, at: number, end: number): Element | undefined {
  const found = element(octets.subarray(0, end), at);
  return found === "more" ? undefined : found;
}

/** BER, not DER: some directories spell every length in four octets. */
function element(octets: Uint8Array, at: number): Element | "more" | undefined {
  const [tag, first] = [octets[at], octets[at + 1]];
  if (tag === undefined || first === undefined) return "more";
  const lengthOctets = first < 0x80 ? 0 : first & 0x7f;
  if (first === 0x80 || lengthOctets > 4) return undefined;
  const start = at + 2 + lengthOctets;
  if (octets.length < start) return "more";
  let length = lengthOctets === 0 ? first : 0;
  for (const octet of octets.subarray(at + 2, start)) length = length * 256 + octet;
  if (length > responseMax) return undefined;
  return octets.length < start + length ? "more" : { tag, start, end: start + length };
}

/** Waits for an event of a socket; destroys it and throws when something else comes first. */
async function event(socket: Socket, name: string, signal: AbortSignal): Promise<void> {
  // An error that nobody listens to would end the process, also one of the socket below an
  // encrypted one.
  socket.on("error", () => {});
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const failed = (error?: Error) => reject(new DirectoryFault(whyOf(error)));
  const closed = () => failed();
  const late = () => reject(new DirectoryFault("the server did not answer in time"));
  socket
    .once(name, () => resolve())
    .once("error", failed)
    .once("close", closed);
  signal.addEventListener("abort", late, { once: true });
  if (signal.aborted) late();
  try {
    await promise;
    socket.off("error", failed).off("close", closed);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", late);
  }
}

function whyOf(error: Error | undefined): string {
  const code = error !== undefined && "code" in error ? ` (${error.code})` : "";
  return `the server cannot be reached${code}`;
}

/** Message 1, ExtendedRequest 1.3.6.1.4.1.1466.20037. */
const startTlsRequest = Buffer.concat([
  Buffer.from([0x30, 0x1d, 0x02, 0x01, 0x01, 0x77, 0x18, 0x80, 0x16]),
  Buffer.from("1.3.6.1.4.1.1466.20037"),
]);
const responseMax = 4096;
