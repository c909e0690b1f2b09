/**
 * One port or socket served by the runtime's HTTP server: limits of time, TLS, and what the front
 * door is told.
 */

import type { TlsSuite } from "#core/tls-suites.ts";

import type { Timing } from "./exchange.ts";
import type { Arrival, FrontDoor } from "./front-door.ts";
import { boundPrivately } from "./unix-door.ts";

/** A PEM certificate chain and its private key. */
export interface TlsMaterial {
  readonly certificate: string;
  readonly key: string;
}

/** How a port speaks TLS. */
export interface TlsOptions {
  readonly material: TlsMaterial;
  readonly minVersion: "1.2" | "1.3";
  readonly suites: readonly TlsSuite[];
}

export type Server = Bun.Server<undefined>;

export interface TimeLimits {
  /**
   * Of an idle connection. These three are at most 255; the runtime counts in steps of four
   * seconds.
   */
  readonly idle_timeout_seconds: number;
  /** From the headers of a request to the end of its body, however steadily that trickles in. */
  readonly body_timeout_seconds: number;
  /** From the headers, or the end of the body, to the end of the answer. */
  readonly request_timeout_seconds: number;
}

/** A port that listened before this process began, and goes on when it ends. */
export interface HandedSocket {
  readonly port: number;
  /**
   * Has the listener on `port` of 127.0.0.1 accept from this socket instead of its own; `release`
   * ends that, and who has not been accepted waits for whoever comes next.
   */
  adopt(port: number): { release(): void };
}

export interface PortOptions extends TimeLimits {
  readonly host: string;
  readonly port: number;
  /** What is served in place of host and port. */
  readonly handed?: HandedSocket | undefined;
  /** Several listeners may hold the port together, so that one can follow the other. */
  readonly shared: boolean;
  readonly tls: TlsOptions | undefined;
  /** What is known of a request beside its octets, by the address of the socket's peer. */
  readonly arrival: (peer: string) => Arrival;
  /** True once every connection shall close with its next answer. */
  readonly drains?: () => boolean;
}

/** One that is served. */
export interface OpenPort {
  readonly server: Server;
  readonly port: number;
  /** Accepts no more from a socket that was handed over; does nothing to one of our own. */
  release(): void;
}

/** Opens the port; throws when it is taken. */
export function openPort(front: FrontDoor, options: PortOptions): OpenPort {
  const { handed } = options;
  if (handed === undefined) {
    const server = listen(front, options);
    return { server, port: server.port ?? options.port, release: () => {} };
  }
  const server = listen(front, { ...options, host: "127.0.0.1", port: 0, shared: false });
  return { server, port: handed.port, release: handed.adopt(server.port ?? 0).release };
}

function listen(front: FrontDoor, options: PortOptions): Server {
  const { host, port, shared, tls } = options;
  return Bun.serve({
    ...common,
    maxRequestBodySize: bodyBytesMax(front),
    idleTimeout: Math.min(255, options.idle_timeout_seconds),
    hostname: host,
    port,
    reusePort: shared,
    ...(tls === undefined ? {} : { tls: tlsOptions(tls) }),
    fetch: (request, server) => {
      const arrival = options.arrival(server.requestIP(request)?.address ?? "");
      const answer = front.handle(request, arrival, limited(request, server, options));
      return options.drains?.() === true ? closing(answer) : answer;
    },
  });
}

function closing(answer: Response | Promise<Response>): Response | Promise<Response> {
  if (answer instanceof Promise) return answer.then(closing);
  answer.headers.set("connection", "close");
  return answer;
}

export interface SocketOptions {
  readonly front: FrontDoor;
  readonly idleSeconds: number;
  readonly answer: (request: Request) => Response | Promise<Response>;
}

/**
 * Opens a Unix socket of mode 0600 at `path`. `idleSeconds` is how long a connection may be silent,
 * also while it waits for an answer; 0 is for ever. The runtime's timer of a single request does
 * nothing on such sockets.
 */
export function openSocket(path: string, { front, idleSeconds, answer }: SocketOptions): Server {
  const options = {
    ...common,
    maxRequestBodySize: bodyBytesMax(front),
    unix: path,
    idleTimeout: idleSeconds,
    fetch: answer,
  };
  // The types know no idleTimeout beside `unix`; the runtime takes it.
  const serve = () => Bun.serve(options as unknown as Bun.Serve.Options<undefined>);
  return boundPrivately(path, 0o600, serve);
}

/**
 * Bun's one timer of a connection, set for what the client is to do now; a body that trickles does
 * not wind it up again, and it stops when the body has ended. Left alone where it is right already:
 * relying parties come by the million.
 */
function limited(request: Request, server: Server, limits: TimeLimits): Timing {
  const { idle_timeout_seconds, body_timeout_seconds, request_timeout_seconds } = limits;
  const lasts = () => server.timeout(request, 0);
  if (request.method === "GET" || request.method === "HEAD") {
    if (request_timeout_seconds !== idle_timeout_seconds) {
      server.timeout(request, atLeast(request_timeout_seconds));
    }
    return { bodyRead: () => {}, lasts };
  }
  server.timeout(request, atLeast(body_timeout_seconds));
  return { bodyRead: () => server.timeout(request, atLeast(request_timeout_seconds)), lasts };
}

/** The timer counts in steps of four seconds, the first of which has long begun. */
const atLeast = (seconds: number): number => Math.min(255, seconds + 4);

/**
 * Versions below 1.2 do not exist in Bun's TLS; 1.3 must be given as its wire number, which the
 * types lack.
 */
const tlsOptions = ({ material, minVersion, suites }: TlsOptions) => ({
  cert: material.certificate,
  key: material.key,
  ciphers: suites.join(":"),
  minVersion: minVersion === "1.3" ? 0x0304 : 0x0303,
});

const internalError = { status: 500, headers: { "content-type": "application/json" } };

/**
 * Where the runtime gives up on a body, with a refusal that says nothing: far enough beyond the
 * largest that is read here, where octets are counted too, that whoever sends a little too much is
 * told so.
 */
const bodyBytesMax = (front: FrontDoor): number => Math.max(2 * front.largestBody, bodyBytesLeast);

/** What every server of this process is told, whatever it listens on. */
const common = {
  development: false as const,
  error: () => new Response('{"error":"internal error","code":"internal"}', internalError),
};

const bodyBytesLeast = 1024 * 1024 * 1024;
