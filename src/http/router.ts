/**
 * Finds the operation for a method and a path; what can be found is compiled from the operations
 * table alone.
 */

import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";

import { assert } from "#core/problems.ts";
import { type Operation, type OperationName, routesOf } from "#operations";

import type { Match, Side } from "./exchange.ts";

/** What a method and a path lead to. */
export type Found =
  | { readonly kind: "operation"; readonly match: Match }
  | { readonly kind: "method"; readonly allow: readonly string[] }
  | { readonly kind: "nothing" };

/** The rows that can be reached through a door. */
export function reachable(side: Side, table: readonly Row[]): readonly Row[] {
  return table.filter(([, row]) => {
    if (side === "local") return true;
    if (side === "main") return row.local !== true;
    return row.needs === "pub" && servedInCleartext.some((limit) => limit === row.limit);
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

  constructor(rows: readonly Row[]) {
    const targets = new Map<string, Target>();
    for (const [name, row] of rows) {
      for (const { method, path } of routesOf(row)) {
        const target = targets.get(path) ?? compile(path);
        target.methods.set(method, name);
        targets.set(path, target);
      }
    }
    for (const target of [...targets.values()].sort((a, b) => b.literals - a.literals)) {
      this.#router.add("ALL", target.mounted, target);
    }
    this.#hot = rows.flatMap(([name, row]) => (row.hot ? [hotRoute(name, row)] : []));
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
    if (target === undefined || values === undefined) return { kind: "nothing" };
    const operation = target.methods.get(method === "HEAD" ? "GET" : method);
    if (operation === undefined) return { kind: "method", allow: allowed(target) };
    const decoded = decodeAll(target, values);
    if (decoded === undefined) return { kind: "nothing" };
    return { kind: "operation", match: { operation, route: target.route, path: decoded } };
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
  const methods = route.method === "GET" ? ["GET", "HEAD"] : [route.method];
  return { operation, route: route.path, methods, prefix, suffix, rest };
}

/** One path pattern and the operations behind it. */
interface Target {
  readonly route: string;
  /** The pattern in the router's language. */
  readonly mounted: string;
  /** Takes the parameters out of a path, verbatim. */
  readonly pattern: RegExp;
  readonly names: readonly string[];
  readonly literals: number;
  readonly methods: Map<string, OperationName>;
}

function compile(route: string): Target {
  const segments = route.slice(1).split("/").map(compileSegment);
  return {
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
  const path: Record<string, string> = {};
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
