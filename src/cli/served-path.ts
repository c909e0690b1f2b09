/** The certificates a TLS server shows, looked at without trusting them. */

import { connect, type DetailedPeerCertificate } from "node:tls";

import { Failure } from "./failure.ts";
import { networkFault, trustFault } from "./network-faults.ts";

/** What a server showed: its path as DER, lowest first, and whether this machine trusts it. */
export interface ServedPath {
  readonly certificates: readonly Uint8Array[];
  /** Why it is not trusted; undefined when it is. */
  readonly fault: string | undefined;
}

/**
 * Asks a server for its certificates and hangs up; nothing is sent to it. Fails for one that cannot
 * be reached.
 */
export async function servedPath(
  url: URL,
  { ca, timeoutMs }: { readonly ca: string | undefined; readonly timeoutMs: number },
): Promise<ServedPath> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = url.port === "" ? 443 : Number(url.port);
  const { promise, resolve, reject } = Promise.withResolvers<ServedPath>();
  const socket = connect({
    host,
    port,
    servername: /^[\d.]+$|:/.test(host) ? "" : host,
    // What is shown is the question here; nothing is believed because of it.
    rejectUnauthorized: false,
    ...(ca === undefined ? {} : { ca }),
  });
  const unreachable = (why: string) =>
    reject(new Failure(`${url.origin} cannot be reached: ${why}.`, "unreachable"));
  // All of it in this time: a server that sends an octet now and then is never idle.
  const timer = setTimeout(() => unreachable("there was no answer in time"), timeoutMs);
  socket.once("error", (error) => unreachable(networkFault(error)));
  socket.once("secureConnect", () => {
    const error: unknown = socket.authorizationError;
    const code = error instanceof Error && "code" in error ? error.code : error;
    const fault = socket.authorized ? undefined : trustFault(String(code));
    resolve({ certificates: upwards(socket.getPeerCertificate(true)), fault });
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

/** The runtime links each certificate to its issuer, the topmost to itself. */
function upwards(lowest: DetailedPeerCertificate): readonly Uint8Array[] {
  const found: Uint8Array[] = [];
  let one: DetailedPeerCertificate | undefined = lowest;
  while (one?.raw !== undefined && found.length < certificatesMax) {
    const der = new Uint8Array(one.raw);
    if (found.some((other) => Buffer.compare(other, der) === 0)) break;
    found.push(der);
    one = one.issuerCertificate;
  }
  return found;
}

const certificatesMax = 20;
