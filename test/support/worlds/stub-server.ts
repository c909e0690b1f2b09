/** A whole server around handlers that do nothing: every row of the table is filled by a stub. */

import type { Principal } from "#core/access/principal.ts";
import { refuse } from "#core/problems.ts";
import { anything, type Fields, optional } from "#core/shape.ts";
import { instant } from "#core/time.ts";
import { usualTlsSuites } from "#core/tls-suites.ts";
import type { Authenticate } from "#domain/access/authenticate.ts";
import type { Call } from "#domain/access/call.ts";
import { Outcome } from "#domain/access/outcome.ts";
import type { Perform } from "#domain/access/perform.ts";
import type { AccessLogRow } from "#domain/audit/store.ts";
import type { LogLevel } from "#domain/ports.ts";
import { type OperationName, operations, routeOf } from "#operations";

import { accessLog } from "#http/access-log.ts";
import { type Answering, Catalog } from "#http/catalog.ts";
import { Cookies } from "#http/cookies.ts";
import { OwnPages } from "#http/csrf.ts";
import { FrontDoor, type FrontDoorDeps } from "#http/front-door.ts";
import { Listeners, type ListenerOptions } from "#http/listener.ts";
import type { Handlers, PublicHandler } from "#http/public.ts";
import { stubOf } from "./asking.ts";
import { personNamed } from "./people.ts";

/** A running stub with everything it was told and said. */
export interface StubServer {
  readonly listeners: Listeners;
  readonly front: FrontDoor;
  readonly origin: string;
  readonly rows: AccessLogRow[];
  readonly lines: { level: LogLevel; message: string; facts: Readonly<Record<string, unknown>> }[];
  stop(): Promise<void>;
}

/**
 * Opens a cleartext server on loopback unless `options` says otherwise; `handlers` replace single
 * stubs.
 */
export async function startStub(
  options: Partial<ListenerOptions> = {},
  deps: Partial<FrontDoorDeps> & { readonly handlers?: Answers } = {},
): Promise<StubServer> {
  const rows: AccessLogRow[] = [];
  const lines: StubServer["lines"] = [];
  const log = {
    write: (level: LogLevel, message: string, facts: Readonly<Record<string, unknown>> = {}) => {
      lines.push({ level, message, facts });
    },
  };
  const observer = accessLog({
    log,
    clock: { now: () => instant(0) },
    logAccess: (row) => rows.push(row),
    counters: { began: () => undefined, ended: () => undefined },
  });
  const { handlers, ...others } = deps;
  const front = new FrontDoor({
    perform: stubPerform,
    authenticate: stubAuthenticate,
    observer,
    log,
    random: { uuid: () => crypto.randomUUID() },
    ownPages: new OwnPages([]),
    cookies: new Cookies({ cookie_name: "pki_session", insecure: false }),
    trusted_proxies: [],
    max_body_bytes: 65_536,
    max_bulk_body_bytes: 131_072,
    osUser: "tester",
    limits: { enabled: false, admit: () => {} },
    tenantRate: () => undefined,
    speeches: { ocsp: () => undefined, acme: () => undefined },
    catalog: stubCatalog(handlers),
    ...others,
  });
  const listeners = await Listeners.open(front, {
    host: "127.0.0.1",
    port: 0,
    tls: undefined,
    tlsMinVersion: "1.2",
    insecureAllowed: true,
    clientAuthorities: undefined,
    tlsSuites: usualTlsSuites,
    publicHttp: undefined,
    adminSocket: undefined,
    idle_timeout_seconds: 30,
    body_timeout_seconds: 30,
    request_timeout_seconds: 30,
    ...options,
  });
  const scheme = options.tls === undefined ? "http" : "https";
  const origin = `${scheme}://127.0.0.1:${listeners.addresses.main}`;
  return { listeners, front, origin, rows, lines, stop: () => listeners.close(0) };
}

/** Definitions and public handlers by the names of their rows. */
type Answers = Readonly<Record<string, Answering>>;

/** Every row of the table with a stub, but where another definition is given. */
export const stubCatalog = (handlers: Answers = {}): Catalog =>
  new Catalog(operations, { ...stubHandlers(), ...handlers });

/** Every row answers its own name, path members, origin and body. */
export function stubHandlers(): Handlers {
  const names = Object.keys(operations) as OperationName[]; // The table's own keys.
  const stubs = names.map((name) => [name, stubHandler(name)] as const);
  return Object.fromEntries(stubs) as Handlers; // One stub per row of the table.
}

function stubHandler(name: OperationName): Answering {
  if (derRows.includes(name)) return derStub;
  const posted = routeOf(name).method === "POST";
  return stubOf(name, async () => ({ operation: name }), posted ? sentMembers : askedMembers);
}

/** What tests send to stubs. */
const sentMembers: Fields = { a: optional(anything()), text: optional(anything()) };
const askedMembers: Fields = {
  slow: optional(anything()),
  hang: optional(anything()),
  much: optional(anything()),
};

/**
 * Asks for a principal where the row does, reads the body of a POST, and tells what it was given.
 */
const stubPerform: Perform = async (call) => {
  const { operation, given, origin } = call;
  const { name, row } = operation;
  if (row.needs !== "pub" && origin === undefined) throw refuse("unauthenticated");
  const body = row.route.startsWith("POST") ? await sentIn(call) : undefined;
  const subject = origin?.principal.subject ?? null;
  const told = { operation: name, path: given.named, subject, ip: origin?.ip ?? null, body };
  return new Outcome("done", told);
};

/** The members of the body that were sent; undefined when there are none. */
async function sentIn({ operation, given }: Call): Promise<object | undefined> {
  const members = await given.read();
  const sent = Object.keys(operation.body ?? {}).filter((name) => members[name] !== undefined);
  if (sent.length === 0) return undefined;
  return Object.fromEntries(sent.map((name) => [name, members[name]]));
}

/** `root:secret` and `pki_pat_good` are known. */
const stubAuthenticate: Authenticate = async ({ authorization, localUser }) => {
  switch (authorization?.kind) {
    case undefined:
      return localUser === undefined ? undefined : principal(`local:${localUser}`, "local");
    case "basic":
      if (authorization.name !== "root" || authorization.password !== "secret") {
        throw refuse("invalid_credentials");
      }
      return principal("root", "basic");
    case "token":
      if (authorization.secret !== "pki_pat_good") throw refuse("invalid_token");
      return principal("token:1", "token");
    default:
      throw refuse("invalid_token");
  }
};

const principal = (subject: string, mechanism: Principal["mechanism"]) => ({
  principal: {
    subject,
    person: personNamed(subject),
    isRoot: false,
    roles: ["admin"],
    tenantRoles: {},
    groups: [],
    mechanism,
  } satisfies Principal,
});

const derStub: PublicHandler = ({ path }) => {
  const octets = Buffer.from(`der of ${path.id} ${path.request ?? ""}`);
  const headers = {
    "content-type": "application/ocsp-response",
    "content-length": String(octets.byteLength),
  };
  return new Response(octets, { headers });
};

const derRows: readonly OperationName[] = ["ocsp.get", "ocsp.post", "crl.read"];
