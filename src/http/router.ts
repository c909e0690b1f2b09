/**
 * Finds the operation for a method and a path; what can be found is compiled from the operations
 * table alone.
 */

import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";

import { assert } from "#core/problems.ts";
import { type Operation, type OperationName, type Route, routesOf, type Speech } from "#operations";

import type { Match, Side } from "./exchange.ts";

/** What a method and a path lead to. */
export type Found = { readonly kind: "operation"; readonly match: Match } | Missed;

/** What no operation answers; `speaks` is the protocol whose path it is. */
export type Missed = (
  | { readonly kind: "method"; readonly allow: readonly string[] }
  | { readonly kind: "nothing" }
) & { readonly speaks?: Speech | undefined };

/** Where a protocol is served: its rows' own base, under another path as often as configured. */
export interface Mount {
  /** What handlers learn as the path member `directory`. */
  readonly directory: string;
  readonly path: string;
}

/** The places of each protocol; one that is not named stays where its rows say. */
export type Mounts = Readonly<Partial<Record<Speech, readonly Mount[]>>>;

/** The rows that can be reached through a door. */
export function reachable(side: Side, table: readonly Row[]): readonly Row[] {
  return table.filter(([, row]) => {
    if (side === "local") return true;
    if (side === "main") return row.local !== true;
    const fetched = row.speaks === "acme" && row.route.startsWith("GET ");
    const published = servedInCleartext.some((limit) => limit === row.limit);
    return row.needs === "pub" && (fetched || published);
  });
}

/** One row under its name. */
export type Row = readonly [name: OperationName, row: Operation];

/**
 * The routes of one door. Paths are exact, case-sensitive and without trailing slash; HEAD is
 * served wherever GET is. A pattern with more literal octets wins, so `{serial}:suspend` is seen
 * before `{serial}`.
 */
export class Routes {
  readonly #known = new Map<string, Target>();
  readonly #router = new SmartRouter<Target>({ routers: [new RegExpRouter(), new TrieRouter()] });
  readonly #hot: readonly HotRoute[];
  readonly #exact = new Map<
    string,
    { readonly methods: readonly string[]; readonly found: Found }
  >();
  readonly #spoken: readonly { readonly below: string; readonly speaks: Speech }[];

  constructor(rows: readonly Row[], mounts: Mounts = {}) {
    const targets = new Map<string, Target>();
    this.#spoken = spokenBelow(rows, mounts);
    for (const [name, row] of rows) {
      for (const { method, path, directory } of mountedRoutes(row, mounts)) {
        const target = targets.get(path) ?? compile(path, directory, row.speaks);
        target.methods.set(method, name);
        targets.set(path, target);
      }
    }
    for (const target of [...targets.values()].sort((a, b) => b.literals - a.literals)) {
      this.#router.add("ALL", target.mounted, target);
    }
    const hot = rows.filter(([, row]) => row.hot);
    this.#hot = hot.flatMap(([name, row]) => (hasNames(row) ? [hotRoute(name, row)] : []));
    for (const [operation, row] of hot) {
      if (hasNames(row)) continue;
      for (const { method, path, directory } of mountedRoutes(row, mounts)) {
        const named = directory === undefined ? {} : { directory };
        const found = {
          kind: "operation",
          match: { operation, route: path, path: named },
        } as const;
        this.#exact.set(path, { methods: methodsOf(method), found });
      }
    }
  }

  /**
   * `path` is undecoded and without query; `OPTIONS`, `TRACE` and the like are methods nobody
   * allows.
   */
  find(method: string, path: string): Found {
    return this.#findHot(method, path) ?? this.#findAny(method, path);
  }

  /**
   * What relying parties send by the million, by plain comparison of text; undefined for every
   * other path, and for an id that would have to be decoded.
   */
  #findHot(method: string, path: string): Found | undefined {
    const exact = this.#exact.get(path);
    if (exact?.methods.includes(method)) return exact.found;
    for (const { prefix, suffix, rest, methods, operation, route } of this.#hot) {
      if (!path.startsWith(prefix) || !methods.includes(method)) continue;
      const end = path.indexOf("/", prefix.length);
      if (end <= prefix.length || !path.startsWith(suffix, end)) continue;
      const after = path.slice(end + suffix.length);
      if ((rest === undefined) !== (after === "")) continue;
      const id = path.slice(prefix.length, end);
      if (id.includes("%")) return undefined;
      const named = rest === undefined ? { id } : { id, [rest]: after };
      return { kind: "operation", match: { operation, route, path: named } };
    }
    return undefined;
  }

  #findAny(method: string, path: string): Found {
    const target = this.#known.get(path) ?? this.#match(path);
    const values = target?.pattern.exec(path)?.slice(1);
    if (target === undefined || values === undefined) return this.#nothing(path);
    const { speaks } = target;
    const operation = target.methods.get(method === "HEAD" ? "GET" : method);
    if (operation === undefined) return { kind: "method", allow: allowed(target), speaks };
    const decoded = decodeAll(target, values);
    if (decoded === undefined) return this.#nothing(path);
    return { kind: "operation", match: { operation, route: target.route, path: decoded } };
  }

  #nothing(path: string): Missed {
    const spoken = this.#spoken.find(({ below }) => path.startsWith(below));
    return { kind: "nothing", speaks: spoken?.speaks };
  }

  /** Machine callers ask the same few paths again and again. */
  #match(path: string): Target | undefined {
    const target = this.#router.match("ALL", path)[0][0]?.[0];
    if (target === undefined || path.length > knownPathMax) return target;
    if (this.#known.size >= knownMax) this.#known.clear();
    this.#known.set(path, target);
    return target;
  }
}

/** A hot row: `<prefix>{id}<suffix>`, and after that nothing or the rest of the path. */
interface HotRoute {
  readonly operation: OperationName;
  readonly route: string;
  readonly methods: readonly string[];
  readonly prefix: string;
  readonly suffix: string;
  /** Name of the rest. */
  readonly rest: string | undefined;
}

function hotRoute(operation: OperationName, row: Operation): HotRoute {
  const [route] = routesOf(row);
  const [, prefix, suffix, rest] =
    /^(\/[a-z/]+\/)\{id\}(\/[a-z/]+)(?:\{([a-z]+)\*\})?$/.exec(route?.path ?? "") ?? [];
  assert(route && prefix && suffix, "a hot row has a path of this form");
  const methods = methodsOf(route.method);
  return { operation, route: route.path, methods, prefix, suffix, rest };
}

const methodsOf = (method: string): readonly string[] =>
  method === "GET" ? ["GET", "HEAD"] : [method];

const hasNames = ({ route }: Operation): boolean => route.includes("{");

/** What a protocol's rows have in common: the path below which no other rows lie. */
const bases: Readonly<Partial<Record<Speech, string>>> = { acme: "/acme" };

/** The routes of a row wherever its protocol is mounted. */
function mountedRoutes(
  row: Operation,
  mounts: Mounts,
): readonly (Route & { readonly directory?: string })[] {
  const { speaks } = row;
  const base = speaks && bases[speaks];
  const places = speaks && mounts[speaks];
  if (base === undefined || places === undefined) return routesOf(row);
  return routesOf(row).flatMap(({ method, path }) =>
    places.map((place) => ({
      method,
      path: place.path + path.slice(base.length),
      directory: place.directory,
    })),
  );
}

function spokenBelow(rows: readonly Row[], mounts: Mounts) {
  const speeches = new Set(rows.flatMap(([, { speaks }]) => (speaks === undefined ? [] : speaks)));
  return [...speeches].flatMap((speaks) => {
    const base = bases[speaks];
    if (base === undefined) return [];
    const paths = mounts[speaks]?.map(({ path }) => path) ?? [base];
    return paths.map((path) => ({ below: `${path}/`, speaks }));
  });
}

/** One path pattern and the operations behind it. */
interface Target {
  /** Of a protocol that is mounted. */
  readonly directory: string | undefined;
  readonly speaks: Speech | undefined;
  readonly route: string;
  /** The pattern in the router's language. */
  readonly mounted: string;
  /** Takes the parameters out of a path, verbatim. */
  readonly pattern: RegExp;
  readonly names: readonly string[];
  readonly literals: number;
  readonly methods: Map<string, OperationName>;
}

function compile(route: string, directory?: string, speaks?: Speech): Target {
  const segments = route.slice(1).split("/").map(compileSegment);
  return {
    directory,
    speaks,
    route,
    mounted: `/${segments.map((segment) => segment.mounted).join("/")}`,
    pattern: new RegExp(`^/${segments.map((segment) => segment.source).join("/")}$`),
    names: segments.flatMap((segment) => (segment.name === undefined ? [] : [segment.name])),
    literals: route.replace(/\{[^}]*\}/g, "").length,
    methods: new Map(),
  };
}

/**
 * A literal colon would begin a parameter in the router's language, so a segment that holds one is
 * mounted as a parameter constrained to exactly that text; greedy matching splits
 * `{serial}:suspend` at the last colon.
 */
function compileSegment(segment: string, index: number) {
  const [, before = "", name, rest, after = ""] =
    /^([^{]*)(?:\{([a-z_]+)(\*)?\}(.*))?$/.exec(segment) ?? [];
  const value = rest === undefined ? "[^/]+" : ".+";
  if (name === undefined) {
    const literal = escaped(segment);
    const mounted = segment.includes(":") ? `:literal${index}{${literal}}` : segment;
    return { mounted, source: literal, name };
  }
  const source = `${escaped(before)}(${value})${escaped(after)}`;
  const constraint = `${escaped(before)}${value}${escaped(after)}`;
  const plain = before === "" && after === "" && rest === undefined;
  return { mounted: plain ? `:${name}` : `:${name}{${constraint}}`, source, name };
}

/**
 * Decoded once; a rest of path stays verbatim. Undefined when an escape is not UTF-8: no record has
 * such a name.
 */
function decodeAll(target: Target, values: readonly string[]) {
  const path: Record<string, string> =
    target.directory === undefined ? {} : { directory: target.directory };
  for (const [index, name] of target.names.entries()) {
    const raw = values[index] ?? "";
    const value = target.route.includes(`{${name}*}`) ? raw : decodeOnce(raw);
    if (value === undefined) return undefined;
    path[name] = value;
  }
  return path;
}

/** Percent-decodes once; gives undefined for what cannot be decoded, and for a NUL. */
export function decodeOnce(raw: string): string | undefined {
  if (!raw.includes("%")) return raw;
  try {
    const decoded = decodeURIComponent(raw);
    return decoded.includes("\0") ? undefined : decoded; // Nothing is named with a NUL.
  } catch {
    return undefined; // Malformed escapes name nothing.
  }
}

const allowed = (target: Target): readonly string[] =>
  [...target.methods.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));

const escaped = (literal: string): string => literal.replace(/[.*+?^$()|[\]\\]/g, "\\$&");

/** Limit classes of what relying parties fetch without TLS (configuration `server.public_http`). */
const servedInCleartext = ["ocsp", "crl", "chain"] as const;
const knownMax = 1000;
const knownPathMax = 200;
