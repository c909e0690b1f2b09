/**
 * Ends TLS for clients that may show a certificate, which the runtime's own server cannot tell us: every connection is
 * piped, octet for octet, to that server on loopback, and who the client is goes beside it, by the number of the port
 * the pipe comes from. Nothing of it is in the octets, so nothing a client sends can say otherwise.
 */

import { connect, type Socket } from "node:net";
import { createServer, type DetailedPeerCertificate, type Server, type TLSSocket } from "node:tls";

import type { ClientCertificate } from "#domain/access/client-certificates.ts";
import { assert } from "#core/problems.ts";

import type { TlsMaterial } from "./port.ts";

export interface TerminatorOptions {
  readonly host: string;
  /** 0 lets the operating system choose. */
  readonly port: number;
  readonly minVersion: "1.2" | "1.3";
  readonly tls: TlsMaterial;
  /** PEM each; a certificate below any of them is believed by TLS. */
  readonly clientAuthorities: readonly string[];
  /** Connections at once, each of which takes three file descriptors; those beyond are closed. */
  readonly connectionsMax: number;
  /** How long a client may take nothing of what waits for it. */
  readonly idleTimeoutSeconds: number;
  /** Where the server listens on 127.0.0.1. */
  readonly backEndPort: number;
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
  /** By the local port of the pipe; there before the first octet is, and gone before the port is free again. */
  readonly #clients = new Map<number, Client>();
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

  /** The client whose octets come from this port; undefined for a connection that is not ours. */
  clientAt(port: number): Client | undefined {
    return this.#clients.get(port);
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
   * Lets go of clients that take nothing of what is written to them. The server's own timer sees only the pipe, and while
   * that is paused for such a client nobody hears that it was closed.
   */
  #cutStalled(): void {
    const now = performance.now();
    for (const [socket, connection] of this.#open) {
      if (socket.writableLength === 0 || socket.bytesWritten !== connection.sent) {
        connection.sent = socket.bytesWritten;
        connection.at = now;
      } else if (now - connection.at > this.#options.idleTimeoutSeconds * 1000) socket.destroy();
    }
  }

  #accept(socket: TLSSocket): void {
    const client = { peer: socket.remoteAddress ?? "", certificate: certificateOf(socket) };
    const pipe = connect({
      ...{ host: "127.0.0.1", port: this.#options.backEndPort },
      ...{ noDelay: true, allowHalfOpen: true },
    });
    this.#open.set(socket, { pipe, sent: 0, at: performance.now() });
    let local: number | undefined;
    pipe.once("connect", () => {
      if (socket.destroyed) return void pipe.destroy();
      local = pipe.localPort;
      assert(local !== undefined, "a connected socket has a port");
      this.#clients.set(local, client);
      socket.pipe(pipe);
      pipe.pipe(socket);
    });
    // Always before the pipe is closed here: a port that is free may soon be somebody else's.
    const forget = () => {
      if (local !== undefined) this.#clients.delete(local);
      local = undefined;
    };
    const close = () => {
      forget();
      pipe.destroy();
    };
    pipe.once("end", () => {
      // The server has closed and reads no more. A reset spares loopback a minute of TIME-WAIT each time.
      forget();
      pipe.resetAndDestroy();
    });
    socket.on("error", close);
    // What it brought before still goes to the client; that it is closed is told next.
    pipe.on("error", () => {});
    socket.once("close", () => {
      this.#open.delete(socket);
      close();
    });
    pipe.once("close", () => {
      forget();
      endSoon(socket);
    });
  }
}

/** What a rotation replaces. */
const contextOf = (
  { minVersion }: Pick<TerminatorOptions, "minVersion">,
  tls: TlsMaterial,
  clientAuthorities: readonly string[],
) => ({
  ...{ key: tls.key, cert: tls.certificate, ca: [...clientAuthorities] },
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

/** A pipe, and when how much had been sent to its client. */
interface Connection {
  readonly pipe: Socket;
  sent: number;
  at: number;
}

const handshakeMs = 10_000;
const lingerMs = 5000;
const watchMs = 1000;
const chainMax = 20;
