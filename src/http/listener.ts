/** The one file that knows how octets arrive: TLS listener, cleartext listener for relying parties, admin socket. */

import { chmodSync, lstatSync, unlinkSync } from "node:fs";
import { connect, createServer } from "node:net";

import type { Arrival, FrontDoor } from "./front-door.ts";

/** A PEM certificate chain and its private key. */
export interface TlsMaterial {
  readonly certificate: string;
  readonly key: string;
}

export interface ListenerOptions {
  readonly host: string;
  /** 0 lets the operating system choose. */
  readonly port: number;
  /** Without it the main listener is cleartext, which needs `insecureAllowed`. */
  readonly tls: TlsMaterial | undefined;
  readonly tlsMinVersion: "1.2" | "1.3";
  /** `PKID_ALLOW_INSECURE_HTTP`: the operator terminates TLS in front of this process. */
  readonly insecureAllowed: boolean;
  /** Cleartext listener that serves only what relying parties fetch. */
  readonly publicHttp: { readonly host: string; readonly port: number } | undefined;
  /** Path of the admin Unix socket. */
  readonly adminSocket: string | undefined;
  /** Of an idle connection. These three are a multiple of 4 s in effect, and at most 255. */
  readonly idleTimeoutSeconds: number;
  /** From the headers of a request to the end of its body, however steadily that trickles in. */
  readonly bodyTimeoutSeconds: number;
  /** From the headers, or the end of the body, to the end of the answer. */
  readonly requestTimeoutSeconds: number;
}

/** Where a server is reached. */
export interface Addresses {
  readonly main: number;
  readonly public: number | undefined;
}

type Server = Bun.Server<undefined>;

/** All open listeners of one process; they live and stop together. */
export class Listeners {
  readonly #front: FrontDoor;
  readonly #options: ListenerOptions;
  #main: Server;
  /** Listeners that take no new connection but still answer on old ones. */
  readonly #retired = new Set<Server>();
  readonly #others: readonly Server[];
  readonly addresses: Addresses;

  /**
   * Opens every listener of `options`. Throws when there is neither TLS nor leave to go without, when a port is taken,
   * and when another process answers on the admin socket; then nothing stays open.
   */
  static async open(front: FrontDoor, options: ListenerOptions): Promise<Listeners> {
    if (options.tls === undefined && !options.insecureAllowed) {
      throw new Error("TLS is not configured; PKID_ALLOW_INSECURE_HTTP would allow cleartext");
    }
    const opened: Server[] = [];
    try {
      const admin = options.adminSocket;
      if (admin !== undefined) opened.push(await openAdminSocket(front, admin));
      const cleartext = options.publicHttp;
      const open =
        cleartext && openPort(front, options, { ...cleartext, side: "public", tls: undefined });
      if (open !== undefined) opened.push(open);
      const port = await freePort(options.host, options.port);
      const main = openMain(front, { ...options, port }, options.tls);
      return new Listeners(front, { ...options, port }, main, opened, open?.port);
    } catch (error) {
      await Promise.all(opened.map((server) => server.stop(true)));
      throw error;
    }
  }

  private constructor(
    front: FrontDoor,
    options: ListenerOptions,
    main: Server,
    others: readonly Server[],
    publicPort: number | undefined,
  ) {
    this.#front = front;
    this.#options = options;
    this.#main = main;
    this.#others = others;
    this.addresses = { main: options.port, public: publicPort };
  }

  /**
   * Serves new connections with another certificate. Bun cannot exchange it in place, so a second listener joins the
   * port before the first leaves it; requests under way finish on the old one.
   */
  rotate(tls: TlsMaterial): void {
    const old = this.#main;
    this.#main = openMain(this.#front, this.#options, tls);
    this.#retired.add(old);
    old.stop().then(
      () => this.#retired.delete(old),
      () => this.#retired.delete(old),
    );
  }

  /** Refuses new requests, lets running ones finish for at most `timeoutMs`, then closes everything (PRC-2). */
  async close(timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    await this.#front.drain(timeoutMs);
    const servers = [this.#main, ...this.#retired, ...this.#others];
    // An answered request may still have octets on their way to a slow reader.
    while (servers.some((server) => server.pendingRequests > 0) && performance.now() < deadline) {
      await Bun.sleep(10);
    }
    await Promise.all(servers.map((server) => server.stop(true)));
  }
}

/** Both the first and every later main listener share the port, or rotation could not overlap. */
function openMain(
  front: FrontDoor,
  options: ListenerOptions,
  tls: TlsMaterial | undefined,
): Server {
  const { host, port } = options;
  return openPort(front, options, { host, port, side: "main", tls });
}

function openPort(
  front: FrontDoor,
  options: ListenerOptions,
  where: { host: string; port: number; side: "main" | "public"; tls: TlsMaterial | undefined },
): Server {
  const secure = where.tls !== undefined;
  const side = where.side;
  return Bun.serve({
    ...common,
    idleTimeout: idleSeconds(options),
    hostname: where.host,
    port: where.port,
    reusePort: side === "main",
    ...(where.tls === undefined ? {} : { tls: tlsOptions(where.tls, options.tlsMinVersion) }),
    fetch: (request, server) => {
      const peer = server.requestIP(request)?.address ?? "";
      return front.handle(request, {
        side,
        secure,
        peer,
        bodyRead: limited(request, server, options),
      });
    },
  });
}

/**
 * Bun's one timer of a connection, set for what the client is to do now; a body that trickles does not wind it up
 * again, and it stops when the body has ended. Left alone where it is right already: relying parties come by the million.
 */
function limited(
  request: Request,
  server: Server,
  options: ListenerOptions,
): (() => void) | undefined {
  const { idleTimeoutSeconds, bodyTimeoutSeconds, requestTimeoutSeconds } = options;
  if (request.method === "GET" || request.method === "HEAD") {
    if (requestTimeoutSeconds !== idleTimeoutSeconds) {
      server.timeout(request, Math.min(255, requestTimeoutSeconds));
    }
    return undefined;
  }
  server.timeout(request, Math.min(255, bodyTimeoutSeconds));
  return () => server.timeout(request, Math.min(255, requestTimeoutSeconds));
}

/** Mode 0600 from its first instant: the umask is narrowed around the synchronous bind. */
async function openAdminSocket(front: FrontDoor, path: string): Promise<Server> {
  await removeStale(path);
  const arrival: Arrival = { side: "local", secure: false, peer: "" };
  const before = process.umask(0o177);
  try {
    const server = Bun.serve({
      ...common,
      unix: path,
      fetch: (request, itself) => {
        // What an administrator asks for may take long; nobody else reaches this socket.
        itself.timeout(request, 255);
        return front.handle(request, arrival);
      },
    });
    chmodSync(path, 0o600);
    return server;
  } finally {
    process.umask(before);
  }
}

const idleSeconds = (options: ListenerOptions) => Math.min(255, options.idleTimeoutSeconds);

/** Versions below 1.2 do not exist in Bun's TLS; 1.3 must be given as its wire number, which the types lack. */
const tlsOptions = (tls: TlsMaterial, minVersion: "1.2" | "1.3") => ({
  ...{ cert: tls.certificate, key: tls.key },
  minVersion: minVersion === "1.3" ? 0x0304 : 0x0303,
});

/**
 * The port to listen on, proven free. A shared port would also be shared with a stranger of the same user, who then
 * answered half of our requests.
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

/** Unlinks a socket nobody answers on; refuses to touch anything that is not a socket. */
async function removeStale(path: string): Promise<void> {
  if (Buffer.byteLength(path) > socketPathMax) {
    throw new Error("the path of the admin socket is too long");
  }
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new Error("the admin socket's path is taken by another file");
  if (await answers(path)) throw new Error("another server answers on the admin socket");
  unlinkSync(path);
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once("connect", () => {
      probe.destroy();
      resolve(true);
    });
    probe.once("error", () => resolve(false));
  });
}

const common = {
  development: false as const,
  // Bodies are counted where they are read, so that the refusal is ours; unread octets stay with the sender.
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  error: () => new Response('{"error":"internal error","code":"internal"}', internalError),
};

const internalError = { status: 500, headers: { "content-type": "application/json" } };
/** `sun_path` of Linux without its final zero. */
const socketPathMax = 107;
