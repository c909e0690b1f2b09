/**
 * A server for every connection behind our own TLS, on a Unix socket that only this process's user
 * can reach.
 */

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Timing } from "./exchange.ts";
import type { Arrival, FrontDoor } from "./front-door.ts";
import { openSocket, type Server, type TimeLimits } from "./port.ts";
import { socketPathMax } from "./unix-door.ts";

/** Where the octets of one client go, until it is closed. */
export interface Door {
  /** The socket to connect to. */
  readonly path: string;
  /** True while a request is read or answered, which has its own limits of time. */
  readonly busy: boolean;
  /** Closes what came through it. */
  close(): void;
}

/**
 * The runtime's server does not tell over which connection of a Unix socket a request came, and a
 * TCP port or address can be bound by anybody on this host. So every client gets a server of its
 * own: what comes through it is that client's by construction, with nothing to look up and nothing
 * to forge.
 */
export class PipeDoors {
  readonly #front: FrontDoor;
  readonly #limits: TimeLimits;
  readonly #directory: string;
  readonly #open = new Set<Server>();
  #count = 0;

  /**
   * `within` is a directory of this user alone, the system's temporary one without it or when its
   * path is too long; the sockets lie in a directory of that name there.
   */
  constructor(front: FrontDoor, limits: TimeLimits, within: string | undefined, name = "pipes") {
    this.#front = front;
    this.#limits = limits;
    this.#directory = privateDirectory(within, name);
  }

  /** Requests of all clients whose answers have not left yet. */
  get pending(): number {
    let sum = 0;
    for (const server of this.#open) sum += server.pendingRequests;
    return sum;
  }

  /**
   * A door whose every request has arrived as `arrival` says; throws when the system has no more
   * descriptors.
   */
  open(arrival: Arrival): Door {
    this.#count += 1;
    const path = join(this.#directory, String(this.#count));
    const deadline = new Deadline(this.#limits, () => door.close());
    const server = openSocket(path, {
      front: this.#front,
      // The deadline and the pipe in front have every limit of time, and know what lasts.
      idleSeconds: 0,
      answer: (request) =>
        deadline.around(request, (timing) =>
          keptOpen(this.#front.handle(request, arrival, timing)),
        ),
    });
    this.#open.add(server);
    const door = {
      path,
      get busy() {
        return deadline.ticking;
      },
      close: () => {
        deadline.end();
        if (this.#open.delete(server)) void server.stop(true);
      },
    };
    return door;
  }

  /** Closes every door and removes the directory. */
  async close(): Promise<void> {
    const servers = [...this.#open];
    this.#open.clear();
    await Promise.all(servers.map((server) => server.stop(true)));
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/**
 * Ends a connection whose body trickles, or whose answer takes too long: the runtime has no such
 * timer here.
 */
class Deadline {
  readonly #limits: TimeLimits;
  readonly #over: () => void;
  #timer: Timer | undefined;
  #lasting = false;
  ticking = false;

  constructor(limits: TimeLimits, over: () => void) {
    this.#limits = limits;
    this.#over = over;
  }

  /** Runs one request; `answer` is given what to tell of it. */
  around(
    request: Request,
    answer: (timing: Timing) => Response | Promise<Response>,
  ): Response | Promise<Response> {
    const { body_timeout_seconds, request_timeout_seconds } = this.#limits;
    const reads = request.method === "GET" || request.method === "HEAD";
    this.#set(reads ? request_timeout_seconds : body_timeout_seconds);
    const given = answer({
      bodyRead: () => this.#set(request_timeout_seconds),
      lasts: () => {
        this.#lasting = true;
      },
    });
    if (given instanceof Promise)
      return given.then((answered) => this.#answered(request, answered));
    return this.#answered(request, given);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.ticking = false;
  }

  /** What was refused may still be sending its body, and has no longer for that than any other. */
  #answered(request: Request, answer: Response): Response {
    const { headers } = request;
    const sends = headers.has("content-length") || headers.has("transfer-encoding");
    if (answer.status >= 400 && sends) this.#set(this.#limits.body_timeout_seconds);
    else clearTimeout(this.#timer);
    // After a lasting answer the connection ends, so that nobody need know when that was.
    this.ticking = this.#lasting;
    if (this.#lasting) answer.headers.set("connection", "close");
    return answer;
  }

  #set(seconds: number): void {
    clearTimeout(this.#timer);
    this.ticking = true;
    this.#timer = setTimeout(this.#over, seconds * 1000);
    this.#timer.unref();
  }
}

/**
 * Behind a pipe, a body that was refused is read to its end, or until its time is over, instead of
 * closing on it: the pipe, still writing, would find the connection reset and lose the answer.
 */
function keptOpen(answer: Response | Promise<Response>): Response | Promise<Response> {
  if (answer instanceof Promise) return answer.then(keptOpen);
  if (answer.status === bodyTooLarge) answer.headers.delete("connection");
  return answer;
}

/** A fresh directory of mode 0700; what a killed process left at the place is removed. */
function privateDirectory(within: string | undefined, name: string): string {
  const path = within === undefined ? undefined : join(within, name);
  if (path === undefined || Buffer.byteLength(path) + nameMax > socketPathMax) {
    return mkdtempSync(join(tmpdir(), "pkid-"));
  }
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { mode: 0o700 });
  return path;
}

/** A slash and the digits of a number no process counts up to. */
const nameMax = 17;
const bodyTooLarge = 413;
