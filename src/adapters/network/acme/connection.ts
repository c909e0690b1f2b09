/** Connections to addresses that were judged, one at a time, plain or with TLS, within a time. */

import { connect, isIPv6, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";

import { timeUp, ValidationFault } from "./fault.ts";

/** Where to connect to. */
export interface Destination {
  /** In the order in which they are tried; only literals that were judged. */
  readonly addresses: readonly string[];
  readonly port: number;
}

/** An open connection and the address it leads to; whoever asked for it closes it. */
export interface Connection {
  readonly socket: Socket;
  readonly address: string;
}

/**
 * Tries the addresses in turn, four at most: each has 2 s, the last one all that is left. The
 * socket of an address is closed before the next one is tried. Throws ValidationFault, which says
 * of addresses no more than their family: those of a host that a redirect named are not for whoever
 * asks.
 */
export async function openConnection(
  { addresses, port }: Destination,
  signal: AbortSignal,
): Promise<Connection> {
  const tried = addresses.slice(0, addressesMax);
  const failures: string[] = [];
  const family = (address: string) => (isIPv6(address) ? "IPv6" : "IPv4");
  for (const [index, address] of tried.entries()) {
    const last = index === tried.length - 1;
    const result = await reach({ address, port, signal, seconds: last ? undefined : trySeconds });
    if (typeof result !== "string") return { socket: result, address };
    failures.push(`${family(address)}: ${result}`);
    if (signal.aborted) break;
  }
  throw new ValidationFault(
    "connection",
    `No connection to port ${port} (${failures.join("; ")}).`,
  );
}

/**
 * Puts TLS over an open connection, as a client of `name`; any certificate is taken, for it is
 * judged elsewhere or not at all (RFC 8555 §8.3). Throws ValidationFault of type `tls`, or of type
 * `connection` when the time is up.
 */
export function startTls(
  { socket }: Connection,
  { name, protocol }: { readonly name: string | undefined; readonly protocol: string },
  signal: AbortSignal,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const secured = connectTls({
      socket,
      ...(name === undefined ? {} : { servername: name }),
      ALPNProtocols: [protocol],
      minVersion: "TLSv1.2",
      rejectUnauthorized: false,
    });
    const fail = (fault: ValidationFault) => {
      signal.removeEventListener("abort", onAbort);
      secured.destroy();
      socket.destroy();
      reject(fault);
    };
    const onAbort = () => fail(timeUp("the TLS handshake was not done"));
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort);
    secured.on("error", (error) => fail(handshakeFault(error)));
    secured.on("close", () => fail(new ValidationFault("tls", handshakeClosed)));
    secured.on("secureConnect", () => {
      signal.removeEventListener("abort", onAbort);
      for (const event of ["error", "close"]) secured.removeAllListeners(event);
      // Whoever reads on listens for itself; an error that nobody hears must not end the process.
      secured.on("error", () => secured.destroy());
      resolve(secured);
    });
  });
}

interface Try {
  readonly address: string;
  readonly port: number;
  readonly signal: AbortSignal;
  readonly seconds: number | undefined;
}

/** The open socket, or why there is none. */
function reach({ address, port, signal, seconds }: Try): Promise<Socket | string> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve("not tried in time");
    const socket = connect({ host: address, port });
    const timer = seconds === undefined ? undefined : setTimeout(() => onTime(), seconds * 1000);
    const settle = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onTime);
    };
    const give = (words: string) => {
      settle();
      socket.destroy();
      resolve(words);
    };
    const onTime = () => give("no answer in time");
    signal.addEventListener("abort", onTime);
    socket.on("error", (error) => give(connectWords(error)));
    socket.on("connect", () => {
      settle();
      socket.removeAllListeners("error");
      socket.on("error", () => socket.destroy());
      resolve(socket);
    });
  });
}

/** What the kernel says of a connection, in words without numbers and paths. */
const connectWords = (error: Error): string =>
  connectFailures[codeOf(error)] ?? "it cannot be reached";

/** What TLS says, in words of ours: those of the library name its own source files. */
const handshakeFault = (error: Error): ValidationFault =>
  new ValidationFault(
    "tls",
    handshakeFailures[codeOf(error)] ?? "The TLS handshake failed.",
    error,
  );

/** True where the library takes no certificate whose RSA key may not sign (RFC 5280 §4.2.1.3). */
export const isKeyUsageFault = (error: unknown): boolean =>
  error instanceof ValidationFault && codeOf(error.cause) === "ERR_SSL_KEY_USAGE_BIT_INCORRECT";

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";

// biome-ignore format: the table is read by column.
const connectFailures: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET:   "connection reset",
  EHOSTUNREACH: "no route to this host",
  ENETUNREACH:  "no route to this network",
  ETIMEDOUT:    "no answer in time",
};

const handshakeClosed = "The connection was closed during the TLS handshake.";

// biome-ignore format: the table is read by column.
const handshakeFailures: Readonly<Record<string, string>> = {
  ECONNRESET:                                 handshakeClosed,
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: "The server refused the application protocol that was offered.",
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION:        "The server does not speak TLS 1.2 or later.",
  ERR_SSL_UNSUPPORTED_PROTOCOL:                "The server does not speak TLS 1.2 or later.",
  ERR_SSL_TLSV1_UNRECOGNIZED_NAME:             "The server does not know the name it was asked for.",
  ERR_SSL_WRONG_VERSION_NUMBER:                "The server does not speak TLS at this port.",
};

const addressesMax = 4;
/** P-10: how long an address may keep silent while another one is left. */
const trySeconds = 2;
