/**
 * The main listener: served by the runtime alone, or behind our own TLS where clients are asked for
 * certificates.
 */

import { createServer } from "node:net";

import type { TlsSuite } from "#core/tls-suites.ts";

import type { FrontDoor } from "./front-door.ts";
import { PipeDoors } from "./pipe-doors.ts";
import {
  type HandedSocket,
  type OpenPort,
  openPort,
  type TimeLimits,
  type TlsMaterial,
} from "./port.ts";
import { TlsTerminator } from "./terminator.ts";

export interface MainOptions extends TimeLimits {
  readonly host: string;
  /** 0 lets the operating system choose. */
  readonly port: number;
  /** What is served in place of host and port. */
  readonly handed?: HandedSocket | undefined;
  /** Without it the listener is cleartext. */
  readonly tls: TlsMaterial | undefined;
  readonly tlsMinVersion: "1.2" | "1.3";
  /** What is spoken in TLS 1.2, by OpenSSL's names. */
  readonly tlsSuites: readonly TlsSuite[];
  /**
   * The CAs, PEM each, that clients are asked for certificates of; undefined while they are asked
   * for none, and always without TLS. Whoever has use for client certificates adds to it; which CA
   * is good for what is not decided here.
   */
  readonly clientAuthorities: readonly string[] | undefined;
  /** Connections at the same time on a listener that pipes them; 10,000 without it. */
  readonly connectionsMax?: number | undefined;
  /**
   * How one listening socket follows another; without it a rotation cuts the connections that wait.
   */
  readonly following?: Following | undefined;
  /**
   * Where the sockets behind our own TLS may be, private to this user; the system's temporary
   * directory without it.
   */
  readonly privateDirectory?: string | undefined;
}

/**
 * Runs `open`, which listens on a port that this process listens on already, and has every new
 * connection come to the new socket. `release` closes the old socket and leaves its connections.
 * Undefined, without having run it, where the system cannot do that.
 */
export type Following = <S>(
  port: number,
  open: () => S,
) => { readonly opened: S; release(): void } | undefined;

/** One of two ways to serve the same port. */
export interface MainListener {
  readonly port: number;
  /** Requests whose answers have not left yet. */
  readonly pending: number;
  /**
   * Serves new connections with another certificate, and asks clients for certificates of these
   * CAs, if it asks.
   */
  rotate(tls: TlsMaterial, clientAuthorities: readonly string[] | undefined): void;
  /** Takes no more connections from a socket that was handed over, and serves those it has. */
  release(): void;
  /** Closes every connection, after what was written has been sent or the time is over. */
  close(timeoutMs: number): Promise<void>;
}

/** Opens it; throws when the port is taken. */
export async function openMain(front: FrontDoor, options: MainOptions): Promise<MainListener> {
  const { tls, clientAuthorities } = options;
  if (tls === undefined || clientAuthorities === undefined) {
    return new DirectListener(front, {
      ...options,
      port: options.handed?.port ?? (await freePort(options.host, options.port)),
    });
  }
  return AskingListener.open(front, options, tls, clientAuthorities);
}

/** The runtime's own server, which cannot tell us a client's certificate. */
class DirectListener implements MainListener {
  readonly #front: FrontDoor;
  readonly #options: MainOptions;
  #serving: Generation;
  /** Those that take no new connection but still answer on old ones. */
  readonly #retired = new Set<Generation>();

  constructor(front: FrontDoor, options: MainOptions) {
    this.#front = front;
    this.#options = options;
    this.#serving = this.#open(options.tls);
  }

  get port(): number {
    return this.#options.port;
  }

  get pending(): number {
    const all = [this.#serving, ...this.#retired];
    return all.reduce((sum, { open }) => sum + open.server.pendingRequests, 0);
  }

  /**
   * Bun cannot exchange a certificate in place, so a second listener joins the port before the
   * first leaves it. On the first, requests finish, and each connection is told to close with its
   * next answer. A socket that was handed over goes from one to the other.
   */
  rotate(tls: TlsMaterial): void {
    const old = this.#serving;
    for (const one of this.#retired) one.release();
    if (this.#options.handed !== undefined) {
      this.#serving = this.#open(tls);
      old.open.release();
      this.#retire(old);
      return;
    }
    const followed = this.#options.following?.(this.port, () => this.#open(tls));
    this.#serving = followed?.opened ?? this.#open(tls);
    if (followed === undefined) {
      this.#retired.add(old);
      old.drains = true;
      this.#forget(old, old.open.server.stop());
      return;
    }
    old.release = once(() => followed.release());
    // What came in before the rotation is accepted first.
    after(acceptedMs, old.release);
    this.#retire(old);
  }

  release(): void {
    this.#serving.open.release();
  }

  /** What was accepted has the time any connection has. */
  #retire(old: Generation): void {
    this.#retired.add(old);
    old.drains = true;
    const { idle_timeout_seconds, body_timeout_seconds, request_timeout_seconds } = this.#options;
    const longest = idle_timeout_seconds + body_timeout_seconds + request_timeout_seconds;
    after(longest * 1000, () => this.#forget(old, old.open.server.stop(true)));
  }

  async close(): Promise<void> {
    const all = [this.#serving, ...this.#retired];
    for (const { release } of all) release();
    await Promise.all(all.map(({ open }) => open.server.stop(true)));
  }

  #forget(old: Generation, stopped: Promise<void>): void {
    const forget = () => void this.#retired.delete(old);
    stopped.then(forget, forget);
  }

  /** Both the first and every later listener share the port, or rotation could not overlap. */
  #open(tls: TlsMaterial | undefined): Generation {
    const { tlsMinVersion: minVersion, tlsSuites: suites } = this.#options;
    const generation = { drains: false, release: () => {} };
    const open = openPort(this.#front, {
      ...this.#options,
      shared: true,
      tls: tls && { material: tls, minVersion, suites },
      arrival: (peer) => ({ side: "main", secure: tls !== undefined, peer }),
      drains: () => generation.drains,
    });
    return Object.assign(generation, { open });
  }
}

/** One listener of several that follow each other. */
interface Generation {
  readonly open: OpenPort;
  /** Its connections are told to close. */
  drains: boolean;
  /** Closes the listening socket, once it has been followed. */
  release: () => void;
}

function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (!done) act();
    done = true;
  };
}

const after = (milliseconds: number, act: () => void): void => {
  setTimeout(act, milliseconds).unref();
};

/** TLS ended by us, and behind it a server for every client, which nobody else can reach. */
class AskingListener implements MainListener {
  readonly #doors: PipeDoors;
  readonly #terminator: TlsTerminator;

  static async open(
    front: FrontDoor,
    options: MainOptions,
    tls: TlsMaterial,
    clientAuthorities: readonly string[],
  ): Promise<AskingListener> {
    const doors = new PipeDoors(front, options, options.privateDirectory);
    try {
      const terminator = await TlsTerminator.open({
        host: options.host,
        port: options.port,
        handed: options.handed,
        minVersion: options.tlsMinVersion,
        suites: options.tlsSuites,
        tls,
        clientAuthorities,
        connectionsMax: options.connectionsMax ?? connectionsMax,
        idle_timeout_seconds: options.idle_timeout_seconds,
        openDoor: (client) => doors.open({ side: "main", secure: true, ...client }),
      });
      return new AskingListener(doors, terminator);
    } catch (error) {
      await doors.close();
      throw error;
    }
  }

  private constructor(doors: PipeDoors, terminator: TlsTerminator) {
    this.#doors = doors;
    this.#terminator = terminator;
  }

  get port(): number {
    return this.#terminator.port;
  }

  get pending(): number {
    return this.#doors.pending;
  }

  rotate(tls: TlsMaterial, clientAuthorities: readonly string[] | undefined): void {
    this.#terminator.rotate(tls, clientAuthorities ?? []);
  }

  release(): void {
    this.#terminator.release();
  }

  async close(timeoutMs: number): Promise<void> {
    this.#terminator.stopListening();
    // Closed behind, a connection sends what it still has to the client, and then ends in front.
    await this.#doors.close();
    await this.#terminator.close(timeoutMs);
  }
}

/**
 * The port to listen on, proven free. A shared port would also be shared with a stranger of the
 * same user, who then answered half of our requests.
 */
function freePort(host: string, wanted: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(wanted, host, () => {
      const address = probe.address();
      const port = typeof address === "object" ? address?.port : undefined;
      probe.close(() => resolve(port ?? wanted));
    });
  });
}

const connectionsMax = 10_000;
/**
 * By then a handshake that began before a rotation has come to its end, or been lost on the way.
 */
const acceptedMs = 1000;
