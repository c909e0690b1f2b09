/**
 * The one file that knows how octets arrive: TLS listener, cleartext listener for relying parties,
 * admin socket.
 */

import { existsSync } from "node:fs";
import http from "node:http";

import type { Arrival, FrontDoor } from "./front-door.ts";
import { type MainListener, type MainOptions, openMain } from "./main-listener.ts";
import {
  type HandedSocket,
  type OpenPort,
  openPort,
  openSocket,
  type Server,
  type TlsMaterial,
} from "./port.ts";
import { removeStaleSocket } from "./unix-door.ts";
import { UnixListener, type UnixListenerOptions } from "./unix-listener.ts";

export interface ListenerOptions extends MainOptions {
  /** `PKID_ALLOW_INSECURE_HTTP`: the operator terminates TLS in front of this process. */
  readonly insecureAllowed: boolean;
  /** Cleartext listener that serves only what relying parties fetch. */
  readonly publicHttp:
    | { readonly host: string; readonly port: number; readonly handed?: HandedSocket | undefined }
    | undefined;
  /** A Unix socket that serves what the main listener serves. */
  readonly unixSocket?: Pick<UnixListenerOptions, "path" | "mode" | "groupId"> | undefined;
  /** Path of the admin Unix socket. */
  readonly adminSocket: string | undefined;
}

/** Where a server is reached. */
export interface Addresses {
  readonly main: number;
  readonly public: number | undefined;
}

/** All open listeners of one process; they live and stop together. */
export class Listeners {
  readonly #front: FrontDoor;
  readonly #main: MainListener;
  /** True when clients of main and public listener wait in sockets that outlive this process. */
  readonly #handed: boolean;
  readonly #public: OpenPort | undefined;
  readonly #others: Server[];
  readonly #adminSocket: string | undefined;
  readonly #unix: UnixListener | undefined;
  readonly #unixSocket: string | undefined;
  readonly addresses: Addresses;

  /**
   * Opens every listener of `options`. Throws when there is neither TLS nor leave to go without,
   * when a port is taken, and when another process answers on the admin socket; then nothing stays
   * open.
   */
  static async open(front: FrontDoor, options: ListenerOptions): Promise<Listeners> {
    if (options.tls === undefined && !options.insecureAllowed) {
      throw new Error("TLS is not configured; PKID_ALLOW_INSECURE_HTTP would allow cleartext");
    }
    // The front door refuses heads far below this in words; the runtime refuses what is beyond with
    // none. It takes the limit of the process from here, although the types only read it.
    Object.assign(http, { maxHeaderSize: headBytesMax });
    const opened: Server[] = [];
    let unix: UnixListener | undefined;
    try {
      const admin = options.adminSocket;
      if (admin !== undefined) opened.push(await openAdminSocket(front, admin));
      const open = openPublic(front, options);
      if (open !== undefined) opened.push(open.server);
      unix = await openUnix(front, options);
      const main = await openMain(front, options);
      const handed = (options.handed ?? options.publicHttp?.handed) !== undefined;
      const paths = { adminSocket: admin, unixSocket: options.unixSocket?.path };
      return new Listeners(front, main, { opened, unix, open, handed, ...paths });
    } catch (error) {
      await Promise.all([unix?.close(0), ...opened.map((server) => server.stop(true))]);
      throw error;
    }
  }

  private constructor(
    front: FrontDoor,
    main: MainListener,
    others: {
      readonly opened: Server[];
      readonly adminSocket: string | undefined;
      readonly unixSocket: string | undefined;
      readonly unix: UnixListener | undefined;
      readonly open: OpenPort | undefined;
      readonly handed: boolean;
    },
  ) {
    this.#front = front;
    this.#main = main;
    this.#others = others.opened;
    this.#adminSocket = others.adminSocket;
    this.#unix = others.unix;
    this.#unixSocket = others.unixSocket;
    this.#public = others.open;
    this.#handed = others.handed;
    this.addresses = { main: main.port, public: others.open?.port };
  }

  /**
   * Serves new connections with another certificate; where clients are asked for theirs, of these
   * CAs from now on.
   */
  rotate(tls: TlsMaterial, clientAuthorities?: readonly string[]): void {
    this.#main.rotate(tls, clientAuthorities);
  }

  /**
   * Opens the admin socket again if its file was removed. The server of the removed file ends after
   * the requests that it has.
   *
   * @returns true if the socket was opened
   */
  async restoreAdminSocket(): Promise<boolean> {
    const path = this.#adminSocket;
    if (path === undefined || !this.#isRemoved(path)) return false;
    // The first one that was opened is the admin socket. Its end must not remove the new file.
    void this.#others[0]?.stop();
    this.#others[0] = await openAdminSocket(this.#front, path);
    return true;
  }

  /**
   * Opens the Unix socket again if its file was removed; connections that exist stay open.
   *
   * @returns true if the socket was opened
   */
  async restoreUnixSocket(): Promise<boolean> {
    const path = this.#unixSocket;
    if (path === undefined || !this.#isRemoved(path)) return false;
    await this.#unix?.reopen();
    return true;
  }

  /** False while the server stops, which removes its sockets. */
  #isRemoved(path: string): boolean {
    return !existsSync(path) && !this.#front.traffic.leaving;
  }

  /**
   * Goes on serving for `delayMs`, so that a balancer sees that this process is not ready any more
   * and sends nobody else. Then refuses new requests, lets those under way finish for at most
   * `timeoutMs`, and closes everything (PRC-2). What sockets that were handed over have let in is
   * served first, and nobody else is let in from there: the next process does that.
   */
  async close(timeoutMs: number, delayMs = 0): Promise<void> {
    const { traffic } = this.#front;
    traffic.leave();
    if (delayMs > 0) await Bun.sleep(delayMs);
    const deadline = performance.now() + timeoutMs;
    if (this.#handed) {
      this.#main.release();
      this.#public?.release();
      await traffic.quiet(quietMs, Math.min(timeoutMs, lingerMsMax));
    }
    await traffic.drain(deadline - performance.now());
    const pending = () =>
      this.#main.pending > 0 ||
      (this.#unix?.pending ?? 0) > 0 ||
      this.#others.some((server) => server.pendingRequests > 0);
    // An answered request may still have octets on their way to a slow reader.
    while (pending() && performance.now() < deadline) await Bun.sleep(10);
    const left = Math.max(0, deadline - performance.now());
    const others = this.#others.map((server) => server.stop(true));
    await Promise.all([this.#main.close(left), this.#unix?.close(left), ...others]);
  }
}

async function openUnix(
  front: FrontDoor,
  options: ListenerOptions,
): Promise<UnixListener | undefined> {
  const { unixSocket, privateDirectory, connectionsMax } = options;
  if (unixSocket === undefined) return undefined;
  const bounds = { privateDirectory, connectionsMax };
  return UnixListener.open(front, { ...options, ...unixSocket, ...bounds });
}

function openPublic(front: FrontDoor, options: ListenerOptions): OpenPort | undefined {
  const { publicHttp } = options;
  return (
    publicHttp &&
    openPort(front, {
      ...options,
      handed: undefined,
      ...publicHttp,
      shared: false,
      tls: undefined,
      arrival: (peer) => ({ side: "public", secure: false, peer }),
    })
  );
}

/** Mode 0600 from its first instant. */
async function openAdminSocket(front: FrontDoor, path: string): Promise<Server> {
  await removeStaleSocket(path, "admin socket");
  const arrival: Arrival = { side: "local", secure: false, peer: "" };
  // What an administrator asks for may take long; nobody else reaches this socket.
  const answer = (request: Request) => front.handle(request, arrival);
  return openSocket(path, { front, idleSeconds: 0, answer });
}

const headBytesMax = 65_536;
/** A handshake and the request after it, from far away. */
const quietMs = 400;
/** Clients wait meanwhile, and they wait for the start of the next process too. */
const lingerMsMax = 1_000;
