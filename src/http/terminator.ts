/**
 * Ends TLS for clients that may show a certificate, which the runtime's own server cannot tell us: every connection is
 * piped, octet for octet, to a server of its own, which knows from its opening who the client is. Nothing of it is in the
 * octets, so nothing a client sends can say otherwise.
 */

import { connect, type Socket } from "node:net";
import { createServer, type DetailedPeerCertificate, type Server, type TLSSocket } from "node:tls";

import type { ClientCertificate } from "#domain/access/client-certificates.ts";
import { assert } from "#core/problems.ts";
import type { TlsSuite } from "#core/tls-suites.ts";

import type { Door } from "./pipe-doors.ts";
import type { TlsMaterial } from "./port.ts";

export interface TerminatorOptions {
  readonly host: string;
  /** 0 lets the operating system choose. */
  readonly port: number;
  readonly minVersion: "1.2" | "1.3";
  /** What is spoken in TLS 1.2, by OpenSSL's names. */
  readonly suites: readonly TlsSuite[];
  readonly tls: TlsMaterial;
  /** PEM each; a certificate below any of them is believed by TLS. */
  readonly clientAuthorities: readonly string[];
  /** Connections at once, each of which takes four file descriptors; those beyond are closed. */
  readonly connectionsMax: number;
  /** How long a client may take nothing of what waits for it, and ask for nothing. */
  readonly idleTimeoutSeconds: number;
  /** Opens a server for one client alone; may throw, which closes the connection. */
  readonly openDoor: (client: Client) => Door;
}

/** Who is at the other end of a connection. */
export interface Client {
  /** Address of the socket's peer. */
  readonly peer: string;
  /** One object for the whole connection; undefined without a certificate, and with one that TLS did not believe. */
  readonly certificate: ClientCertificate | undefined;
}

/** The listener and the connections it has accepted. */
export class TlsTerminator {
  readonly #options: TerminatorOptions;
  readonly #server: Server;
  readonly #open = new Map<TLSSocket, Connection>();
  readonly #watch: Timer;

  /** Listens; rejects when the port is taken or the certificate is none. */
  static open(options: TerminatorOptions): Promise<TlsTerminator> {
    const terminator = new TlsTerminator(options);
    const server = terminator.#server;
    return new Promise((resolve, reject) => {
      const refused = (error: Error) => {
        clearInterval(terminator.#watch);
        reject(error);
      };
      server.once("error", refused);
      server.listen(options.port, options.host, () => {
        server.off("error", refused);
        resolve(terminator);
      });
    });
  }

  private constructor(options: TerminatorOptions) {
    this.#options = options;
    this.#server = createServer(
      {
        ...contextOf(options, options.tls, options.clientAuthorities),
        ...{ requestCert: true, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] },
        ...{ handshakeTimeout: handshakeMs, noDelay: true, allowHalfOpen: true },
      },
      (socket) => this.#accept(socket),
    );
    this.#server.maxConnections = options.connectionsMax;
    // A handshake that fails or takes too long does not close its socket by itself.
    this.#server.on("tlsClientError", (_error, socket) => socket.destroy());
    this.#watch = setInterval(() => this.#cutStalled(), watchMs);
    this.#watch.unref();
  }

  get port(): number {
    const address = this.#server.address();
    assert(typeof address === "object" && address !== null, "a TLS listener has a port");
    return address.port;
  }

  /** For new connections; a session of before is not resumed, so nobody is believed for what was trusted then. */
  rotate(tls: TlsMaterial, clientAuthorities: readonly string[]): void {
    this.#server.setSecureContext(contextOf(this.#options, tls, clientAuthorities));
  }

  /** Takes no new connection. */
  stopListening(): void {
    this.#server.close();
  }

  /** Waits until what the server has said is sent, for at most so long, and closes what is left. */
  async close(timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    // What was never asked anything has nothing to say; the server need not even know of it.
    const sending = () =>
      [...this.#open].some(
        ([socket, { pipe }]) => pipe.bytesWritten > 0 && !socket.writableFinished,
      );
    while (sending() && performance.now() < deadline) await Bun.sleep(5);
    clearInterval(this.#watch);
    for (const socket of this.#open.keys()) socket.destroy();
  }

  /**
   * Lets go of clients that take nothing of what is written to them, and of those that ask for nothing. While a pipe is
   * paused for such a client nobody hears that it was closed.
   */
  #cutStalled(): void {
    const now = performance.now();
    for (const [socket, connection] of this.#open) {
      const moved = socket.bytesWritten + connection.pipe.bytesWritten;
      const waits = connection.door.busy && socket.writableLength === 0;
      if (waits || moved !== connection.moved) {
        connection.moved = moved;
        connection.at = now;
      } else if (now - connection.at > this.#options.idleTimeoutSeconds * 1000) socket.destroy();
    }
  }

  #accept(socket: TLSSocket): void {
    const door = this.#doorFor(socket);
    if (door === undefined) return void socket.destroy();
    const pipe = connect({ path: door.path, allowHalfOpen: true });
    this.#open.set(socket, { pipe, door, moved: 0, at: performance.now() });
    pipe.once("connect", () => {
      if (socket.destroyed) return void pipe.destroy();
      socket.pipe(pipe);
      pipe.pipe(socket);
    });
    // The server has closed and reads no more.
    pipe.once("end", () => pipe.destroy());
    socket.on("error", () => pipe.destroy());
    // What it brought before still goes to the client; that it is closed is told next.
    pipe.on("error", () => {});
    socket.once("close", () => {
      this.#open.delete(socket);
      pipe.destroy();
    });
    pipe.once("close", () => {
      door.close();
      endSoon(socket);
    });
  }

  #doorFor(socket: TLSSocket): Door | undefined {
    const client = { peer: socket.remoteAddress ?? "", certificate: certificateOf(socket) };
    try {
      return this.#options.openDoor(client);
    } catch {
      return undefined; // No descriptors are left; the client may come again.
    }
  }
}

/** What a rotation replaces. */
const contextOf = (
  { minVersion, suites }: Pick<TerminatorOptions, "minVersion" | "suites">,
  tls: TlsMaterial,
  clientAuthorities: readonly string[],
) => ({
  ...{ key: tls.key, cert: tls.certificate, ca: [...clientAuthorities] },
  ciphers: suites.join(":"),
  // A trusted issuing CA is trusted without the root above it.
  ...{ minVersion: `TLSv${minVersion}` as const, allowPartialTrustChain: true },
});

/** Whatever TLS did not believe is as good as nothing; the others come in the order they were shown, which is free. */
function certificateOf(socket: TLSSocket): ClientCertificate | undefined {
  if (!socket.authorized) return undefined;
  const chain = new Map<string, Uint8Array>();
  let shown: Partial<DetailedPeerCertificate> | undefined = socket.getPeerCertificate(true);
  for (let n = 0; shown?.raw !== undefined && n < chainMax; n++) {
    chain.set(shown.raw.toString("latin1"), new Uint8Array(shown.raw));
    // A self-signed certificate is its own issuer.
    shown = shown.issuerCertificate === shown ? undefined : shown.issuerCertificate;
  }
  return chain.size === 0 ? undefined : { chain: [...chain.values()] };
}

/** The server has ended: the client gets what is left, and then has a moment to close. */
function endSoon(socket: TLSSocket): void {
  if (socket.destroyed) return;
  socket.end(() => {
    const linger = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(linger));
  });
}

/** A pipe, and when how many octets had moved either way. */
interface Connection {
  readonly pipe: Socket;
  readonly door: Door;
  moved: number;
  at: number;
}

const handshakeMs = 10_000;
const lingerMs = 5000;
const watchMs = 1000;
const chainMax = 20;
