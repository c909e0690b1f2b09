/**
 * Takes every request from arrival to answer: id and address, operation, credential, pipeline,
 * headers, observation.
 */

import { sha256Hex } from "#core/crypto.ts";
import { Problem, refuse } from "#core/problems.ts";
import { refuseShortage } from "#core/shortage.ts";
import type { Origin } from "#domain/actor.ts";
import type { Call } from "#domain/access/call.ts";
import type { Mounted } from "#domain/access/mounted.ts";
import type { ClientCertificate } from "#domain/access/client-certificates.ts";
import type { Authenticate } from "#domain/access/authenticate.ts";
import type { Perform } from "#domain/access/perform.ts";
import type { Log, Random } from "#domain/ports.ts";
import type { RpcDoor } from "#http/rpc/door.ts";
import type { OperationName } from "#operations";

import { dressed, renderOutcome, renderProblem, type Sized } from "./answer.ts";
import {
  parseJsonOfAnyLength,
  readBytes,
  readJsonOctets,
  refuseAnnounced,
  unclearHeader,
} from "./body.ts";
import type { Catalog, Entry } from "./catalog.ts";
import type { Cookies } from "./cookies.ts";
import { presentedBy } from "./credentials.ts";
import { type OwnPages, requireCsrfToken, requireJsonOfBrowsers } from "./csrf.ts";
import type { Exchange, Match, Observer, Side, Timing } from "./exchange.ts";
import { givenJson } from "./given.ts";
import type { DerAnswer, DerHandler, PublicHandler, Speeches } from "./public.ts";
import { type Asker, countedClasses, type RateLimits } from "./rate-limits.ts";
import {
  approvalNamed,
  ClientAddresses,
  headBytes,
  requestIdOf,
  splitUrl,
  withKnown,
} from "./request.ts";
import { type Found, type Mounts, reachable, Routes } from "./router.ts";
import { Traffic } from "./traffic.ts";

export interface FrontDoorDeps {
  readonly catalog: Catalog;
  readonly perform: Perform;
  readonly authenticate: Authenticate;
  readonly observer: Observer;
  readonly log: Log;
  readonly random: Pick<Random, "uuid">;
  /** `server.trusted_proxies`. */
  readonly trusted_proxies: readonly string[];
  /** `server.max_body_bytes`. */
  readonly max_body_bytes: number;
  /** `server.max_bulk_body_bytes`. */
  readonly max_bulk_body_bytes: number;
  /** Keeps changes from pages of other sites. */
  readonly ownPages: OwnPages;
  /** The cookies sessions travel in. */
  readonly cookies: Cookies;
  /** Name of the user this process runs as: who a caller on the admin socket is. */
  readonly osUser: string;
  /** Files outside the operations table; undefined for a path that is not one. */
  readonly console?: ConsolePages;
  /** Counts what anyone may ask; the admin socket is never counted. */
  readonly limits: Pick<RateLimits, "admit" | "enabled">;
  /** What the quotas of a CA's tenant let through; undefined where they set no rate. */
  readonly tenantRate: (ca: string) => Asker["tenant"];
  /** Refusals in the words of each protocol. */
  readonly speeches: Speeches;
  /** Where protocols are served. */
  readonly mounts?: Mounts;
  /** Remote procedure calls, on the main door only. */
  readonly rpc?: Pick<RpcDoor, "serves" | "answer">;
}

/** Serves the console: GET and HEAD only, on the main door only. */
export interface ConsolePages {
  /** The pattern its answers are counted under. */
  readonly route: string;
  serve(request: Request, path: string): Response | undefined;
}

/** A request as a listener hands it over. */
export interface Arrival {
  readonly side: Side;
  readonly secure: boolean;
  /** Address of the socket peer, empty on a Unix socket. */
  readonly peer: string;
  /** What the client showed in the TLS handshake, when it leads to what is trusted. */
  readonly certificate?: ClientCertificate | undefined;
}

/** The one way in, whichever listener a request came through. */
export class FrontDoor {
  readonly #deps: FrontDoorDeps;
  readonly #addresses: ClientAddresses;
  readonly #routes: Readonly<Record<Side, Routes>>;
  readonly #freshId = (): string => this.#deps.random.uuid();
  /** What comes and goes here. */
  readonly traffic = new Traffic();

  constructor(deps: FrontDoorDeps) {
    this.#deps = deps;
    this.#addresses = new ClientAddresses(deps.trusted_proxies);
    const rows = [...deps.catalog.entries].map(([name, { row }]) => [name, row] as const);
    this.#routes = {
      main: new Routes(reachable("main", rows), deps.mounts),
      local: new Routes(reachable("local", rows), deps.mounts),
      public: new Routes(reachable("public", rows), deps.mounts),
    };
  }

  /**
   * Answers; never rejects. Synchronous when the handler of a hot row is. `timing` is told how the
   * request goes, for the listener's limits of time.
   */
  handle(
    request: Request,
    arrival: Arrival,
    timing: Timing = untimed,
  ): Response | Promise<Response> {
    this.traffic.came();
    const exchange = this.#open(request, arrival, timing);
    this.#deps.observer.began(exchange);
    const found = this.#routes[exchange.side].find(request.method, exchange.path);
    const entry = this.#found(exchange, found);
    const header = unclearHeader(request.headers);
    if (header !== undefined) return this.#refuse(exchange, refuse("bad_header", { header }));
    const hot = entry?.row.hot === true && !this.traffic.draining && found.kind === "operation";
    if (hot && entry.kind === "public") {
      return this.#answerPublic(exchange, found.match, entry.handler);
    }
    if (headBytes(request) > headBytesMax) {
      return this.#refuse(exchange, refuse("headers_too_large", { limit_bytes: headBytesMax }));
    }
    const rpc = exchange.side === "main" ? this.#deps.rpc : undefined;
    if (rpc?.serves(exchange.path)) return this.#answerRpc(exchange, rpc);
    return this.#answer(exchange, found).then(
      (sized) => this.#close(exchange, sized),
      (thrown) => this.#close(exchange, this.#refused(exchange, thrown)),
    );
  }

  /** Octets of the largest body that any operation takes. */
  get largestBody(): number {
    const names = [...this.#deps.catalog.entries.keys()];
    return Math.max(...names.map((operation) => this.#bodyBytesMax({ operation })));
  }

  #open(request: Request, arrival: Arrival, timing: Timing): Exchange {
    const { path, query } = splitUrl(request.url);
    const { headers } = request;
    const { side, secure, peer, certificate } = arrival;
    const ip = side === "local" ? "" : this.#addresses.of(peer, headers);
    const begun = performance.now();
    return {
      request,
      side,
      secure,
      path,
      query,
      ip,
      certificate,
      requestId: requestIdOf(headers, this.#freshId),
      begun,
      movedAt: begun,
      operation: undefined,
      speaks: undefined,
      route: unmatched,
      subject: "",
      timing,
    };
  }

  #answerPublic(
    exchange: Exchange,
    match: Match,
    handler: PublicHandler | DerHandler,
  ): Response | Promise<Response> {
    try {
      this.#count(exchange, match);
      const answer = runPublic(exchange, match, handler);
      if (!(answer instanceof Promise)) return this.#close(exchange, dressed(exchange, answer));
      return answer.then(
        (given) => this.#close(exchange, dressed(exchange, given)),
        (thrown) => this.#close(exchange, this.#refused(exchange, thrown)),
      );
    } catch (thrown) {
      return this.#close(exchange, this.#refused(exchange, thrown));
    }
  }

  async #answerRpc(exchange: Exchange, rpc: Pick<RpcDoor, "answer">): Promise<Response> {
    const response = await rpc.answer({
      exchange,
      admit: () => {
        if (this.traffic.draining) throw refuse("shutting_down", { retry_after: 5 });
        this.#deps.ownPages.guard(exchange.request, exchange.secure);
      },
      origin: (operation) => this.#origin(exchange, operation),
      fault: (thrown) => this.#logFault(exchange, thrown),
    });
    return this.#close(exchange, dressed(exchange, response));
  }

  /** What was matched, noted where whoever refuses and observes looks for it. */
  #found(exchange: Exchange, found: Found): Entry | undefined {
    if (found.kind !== "operation") {
      exchange.speaks = found.speaks;
      return undefined;
    }
    exchange.route = found.match.route;
    exchange.operation = found.match.operation;
    const entry = this.#deps.catalog.entry(found.match.operation);
    exchange.speaks = entry.row.speaks;
    return entry;
  }

  async #answer(exchange: Exchange, found: Found): Promise<Sized> {
    if (this.traffic.draining && exchange.path !== readinessPath) {
      throw refuse("shutting_down", { retry_after: 5 });
    }
    const { request } = exchange;
    if (found.kind === "nothing") {
      if (found.speaks !== undefined) throw refuse("not_found");
      return this.#page(exchange);
    }
    if (found.kind === "method") throw refuse("method_not_allowed", { allow: found.allow });
    const entry = this.#deps.catalog.entry(found.match.operation);
    // Devices ask by POST, and no page gains anything by asking for them.
    if (entry.row.speaks === undefined) {
      this.#deps.ownPages.guard(request, exchange.secure);
      requireJsonOfBrowsers(request);
    }
    this.#count(exchange, found.match);
    await refuseAnnounced(request, this.#bodyBytesMax(found.match));
    switch (entry.kind) {
      case "public":
        return dressed(exchange, await runPublic(exchange, found.match, entry.handler));
      case "message":
        return dressed(exchange, await this.#hear(exchange, found.match, entry));
      case "mounted": {
        const call = await this.#call(exchange, found.match, entry.mounted);
        return await renderOutcome(exchange, await this.#deps.perform(call));
      }
    }
  }

  /** The message says and proves who asks; from there on it is a call like any other. */
  async #hear(
    exchange: Exchange,
    match: Match,
    { mounted, handler }: Extract<Entry, { readonly kind: "message" }>,
  ): Promise<Response> {
    const { request, query, ip, requestId } = exchange;
    const octets = await readBytes(request, this.#bodyBytesMax(match));
    exchange.timing.bodyRead();
    exchange.movedAt = performance.now();
    const asked = { request, path: match.path, query, ip, requestId };
    const { origin, given, tell } = await handler.hear({ ...asked, octets });
    exchange.subject = origin.principal.subject;
    return await tell(await this.#deps.perform({ operation: mounted, origin, given }));
  }

  #count(exchange: Exchange, match: Match): void {
    const { limit } = this.#deps.catalog.row(match.operation);
    if (limit === undefined || exchange.side === "local" || !countedClasses.has(limit)) return;
    if (!this.#deps.limits.enabled) return;
    exchange.route = match.route;
    const credential = exchange.request.headers.get("authorization");
    const account =
      credential === null ? {} : { account: sha256Hex(new TextEncoder().encode(credential)) };
    const tenant = match.path.id === undefined ? undefined : this.#deps.tenantRate(match.path.id);
    this.#deps.limits.admit({ ip: exchange.ip, ...(tenant && { tenant }), ...account });
  }

  #page(exchange: Exchange): Sized {
    const pages = exchange.side === "main" ? this.#deps.console : undefined;
    const response = pages?.serve(exchange.request, exchange.path);
    if (pages === undefined || response === undefined) throw refuse("not_found");
    exchange.route = pages.route;
    if (!["GET", "HEAD"].includes(exchange.request.method)) {
      throw refuse("method_not_allowed", { allow: ["GET", "HEAD"] });
    }
    return dressed(exchange, response);
  }

  async #call(exchange: Exchange, match: Match, operation: Mounted): Promise<Call> {
    const { request } = exchange;
    const asked = new URLSearchParams(exchange.query);
    const open = operation.row.needs === "pub";
    const given = givenJson(operation, {
      path: match.path,
      query: open ? withKnown(asked, operation.query) : asked,
      headers: request.headers,
      body: async () => {
        const octets = await readJsonOctets(request, this.#bodyBytesMax(match));
        exchange.timing.bodyRead();
        exchange.movedAt = performance.now();
        return octets && (await parseJsonOfAnyLength(octets));
      },
    });
    return {
      operation,
      origin: open ? undefined : await this.#origin(exchange, match.operation),
      given,
      approval: approvalNamed(request.headers),
    };
  }

  #bodyBytesMax({ operation }: Pick<Match, "operation">): number {
    const { max_body_bytes, max_bulk_body_bytes } = this.#deps;
    return this.#deps.catalog.row(operation).bulk ? max_bulk_body_bytes : max_body_bytes;
  }

  async #origin(exchange: Exchange, operation: OperationName): Promise<Origin | undefined> {
    const { ip, requestId } = exchange;
    const exempt = this.#deps.catalog.row(operation).limit === "exempt";
    const presented = presentedBy(exchange, this.#deps.cookies, this.#deps.osUser);
    const authenticated = await this.#deps.authenticate(presented, { ip, requestId, exempt });
    if (authenticated === undefined) return undefined;
    const { principal, session } = authenticated;
    exchange.subject = principal.subject;
    if (session !== undefined) requireCsrfToken(exchange.request, session.csrfToken);
    return { ...authenticated, ip, requestId };
  }

  #refuse(exchange: Exchange, problem: Problem): Response {
    return this.#close(exchange, this.#refused(exchange, problem));
  }

  #refused(exchange: Exchange, thrown: unknown): Sized {
    const shortage = thrown instanceof Problem ? undefined : refuseShortage(thrown);
    if (shortage !== undefined) {
      this.#logFault(exchange, thrown);
      return this.#refused(exchange, shortage);
    }
    const { speaks } = exchange;
    const told = speaks && this.#deps.speeches[speaks];
    const problem = thrown instanceof Problem ? thrown : refuse("internal");
    const own = told?.(problem, { method: exchange.request.method, path: exchange.path });
    if (own !== undefined) {
      if (problem !== thrown) this.#logFault(exchange, thrown);
      return dressed(exchange, own);
    }
    const refused = renderProblem(exchange, thrown);
    if (refused.bug) this.#logFault(exchange, thrown);
    return refused;
  }

  #logFault(exchange: Exchange, thrown: unknown): void {
    const stack = thrown instanceof Error ? thrown.stack : String(thrown);
    const facts = { request_id: exchange.requestId, route: exchange.route, stack };
    this.#deps.log.write("error", "request_failed", facts);
  }

  #close(exchange: Exchange, { response, bytes }: Sized): Response {
    if (this.traffic.leaving) response.headers.set("connection", "close");
    this.traffic.answered();
    const bytesOut = exchange.request.method === "HEAD" ? 0 : bytes;
    exchange.movedAt = performance.now();
    const durationMs = exchange.movedAt - exchange.begun;
    this.#deps.observer.ended(exchange, { status: response.status, bytesOut, durationMs });
    return response;
  }
}

function runPublic(
  exchange: Exchange,
  match: Match,
  handler: PublicHandler | DerHandler,
): Response | DerAnswer | Promise<Response | DerAnswer> {
  exchange.route = match.route;
  const { request, query, ip, requestId } = exchange;
  return handler({ request, path: match.path, query, ip, requestId });
}

const untimed: Timing = { bodyRead: () => {}, lasts: () => {} };
const unmatched = "unmatched";
/** What an address and its header fields may take together. */
const headBytesMax = 16 * 1024;
/** The one path that answers while the server drains, to say so. */
const readinessPath = "/readyz";
