/**
 * Ends TLS for clients that may show a certificate, which the runtime's own server cannot tell us:
 * every connection is piped, octet for octet, to a server of its own, which knows from its opening
 * who the client is. Nothing of it is in the octets, so nothing a client sends can say otherwise.
 */

import { createServer, type DetailedPeerCertificate, type Server, type TLSSocket } from "node:tls";

import type { ClientCertificate } from "#domain/access/client-certificates.ts";
import { assert } from "#core/problems.ts";
import type { TlsSuite } from "#core/tls-suites.ts";

import { Pipes, type PipesOptions } from "./pipes.ts";
import type { HandedSocket, TlsMaterial } from "./port.ts";

export interface TerminatorOptions extends PipesOptions {
  readonly host: string;
  /** 0 lets the operating system choose. */
  readonly port: number;
  /** What is served in place of host and port. */
  readonly handed?: HandedSocket | undefined;
  readonly minVersion: "1.2" | "1.3";
  /** What is spoken in TLS 1.2, by OpenSSL's names. */
  readonly suites: readonly TlsSuite[];
  readonly tls: TlsMaterial;
  /** PEM each; clients are told their names. */
  readonly clientAuthorities: readonly string[];
  /** Connections at once, each of which takes four file descriptors; those beyond are closed. */
  readonly connectionsMax: number;
}

/** The listener and the connections it has accepted. */
export class TlsTerminator {
  readonly #options: TerminatorOptions;
  readonly #server: Server;
  readonly #pipes: Pipes;
  #adopted: { release(): void } | undefined;

  /** Listens; rejects when the port is taken or the certificate is none. */
  static open(options: TerminatorOptions): Promise<TlsTerminator> {
    const terminator = new TlsTerminator(options);
    const server = terminator.#server;
    const { handed } = options;
    const [port, host] = handed ? [0, "127.0.0.1"] : [options.port, options.host];
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        try {
          terminator.#adopted = handed?.adopt(terminator.#ownPort);
          resolve(terminator);
        } catch (error) {
          server.close();
          reject(error);
        }
      });
    });
  }

  private constructor(options: TerminatorOptions) {
    this.#options = options;
    this.#pipes = new Pipes(options);
    this.#server = createServer(
      {
        ...contextOf(options, options.tls, options.clientAuthorities),
        requestCert: true,
        rejectUnauthorized: false,
        ALPNProtocols: ["http/1.1"],
        handshakeTimeout: handshakeMs,
        noDelay: true,
        allowHalfOpen: true,
      },
      (socket) => {
        const peer = socket.remoteAddress ?? "";
        this.#pipes.accept(socket, { peer, certificate: certificateOf(socket) });
      },
    );
    this.#server.maxConnections = options.connectionsMax;
    // A handshake that fails or takes too long does not close its socket by itself.
    this.#server.on("tlsClientError", (_error, socket) => socket.destroy());
  }

  get port(): number {
    return this.#options.handed?.port ?? this.#ownPort;
  }

  get #ownPort(): number {
    const address = this.#server.address();
    assert(typeof address === "object" && address !== null, "a TLS listener has a port");
    return address.port;
  }

  /**
   * For new connections; a session of before is not resumed, so nobody is believed for what was
   * trusted then.
   */
  rotate(tls: TlsMaterial, clientAuthorities: readonly string[]): void {
    this.#server.setSecureContext(contextOf(this.#options, tls, clientAuthorities));
  }

  /** Takes no new connection from a socket that was handed over. */
  release(): void {
    this.#adopted?.release();
  }

  /** Takes no new connection. */
  stopListening(): void {
    this.release();
    this.#server.close();
  }

  /** Waits until what the server has said is sent, for at most so long, and closes what is left. */
  close(timeoutMs: number): Promise<void> {
    return this.#pipes.close(timeoutMs);
  }
}

/** What a rotation replaces. */
const contextOf = (
  { minVersion, suites }: Pick<TerminatorOptions, "minVersion" | "suites">,
  tls: TlsMaterial,
  clientAuthorities: readonly string[],
) => ({
  key: tls.key,
  cert: tls.certificate,
  ca: [...clientAuthorities],
  ciphers: suites.join(":"),
  minVersion: `TLSv${minVersion}` as const,
});

/**
 * In the order they were shown, which is free: the runtime links each to the next, whoever issued
 * it. The handshake has proven that the client holds the key of the first. What TLS says of the
 * path is not asked: it follows the first issuer of a name alone, where a later one may be the one
 * that is trusted, so whoever relies on the certificate looks for a path.
 */
function certificateOf(socket: TLSSocket): ClientCertificate | undefined {
  const chain = new Map<string, Uint8Array>();
  let shown = peerOf(socket);
  for (let n = 0; shown?.raw !== undefined && n < chainMax; n++) {
    chain.set(shown.raw.toString("latin1"), new Uint8Array(shown.raw));
    // After the last the runtime names one that is its own issuer.
    shown = shown.issuerCertificate === shown ? undefined : shown.issuerCertificate;
  }
  return chain.size === 0 ? undefined : { chain: [...chain.values()] };
}

function peerOf(socket: TLSSocket): Partial<DetailedPeerCertificate> | undefined {
  try {
    return socket.getPeerCertificate(true);
  } catch {
    return undefined; // What the runtime cannot read says nothing to anybody.
  }
}

const handshakeMs = 10_000;
const chainMax = 20;
