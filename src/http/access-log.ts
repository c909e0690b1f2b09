/**
 * Writes down every request: one line in the process log, one row in the access log, one count in
 * the metrics.
 */

import { withoutApiTokens } from "#core/access/token-secret.ts";
import type { AccessLogRow } from "#domain/audit/store.ts";
import type { Clock, Log } from "#domain/ports.ts";

import type { Exchange, Observer, Outcome } from "./exchange.ts";

/** The `method` label of metrics: a closed set, whatever a client invents. */
export type MethodLabel = "GET" | "HEAD" | "POST" | "PUT" | "DELETE" | "OPTIONS" | "other";

/** Counts requests; `route` is a pattern as mounted, or `unmatched`. */
export interface RequestCounters {
  began(): void;
  ended(method: MethodLabel, route: string, status: number, seconds: number): void;
}

export interface AccessLogDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: RequestCounters;
  /** Buffers a row of the access log; absent when `access_log.enabled` is false. */
  readonly logAccess?: (row: AccessLogRow) => void;
}

/**
 * Observes requests for all three readers; never sees a query, a body, a cookie or a credential.
 */
export function accessLog(deps: AccessLogDeps): Observer {
  return {
    began: () => deps.counters.began(),
    ended: (exchange, outcome) => {
      const method = methodLabel(exchange.request.method);
      deps.counters.ended(method, exchange.route, outcome.status, outcome.durationMs / 1000);
      const row = rowOf(deps.clock, exchange, outcome);
      deps.logAccess?.(row);
      // The members and their order are fixed (API-11).
      deps.log.write("info", "http_request", {
        request_id: row.requestId,
        method: row.method,
        route: row.route,
        path: row.path,
        status: row.status,
        duration_ms: Math.round(outcome.durationMs * 1000) / 1000,
        bytes_out: row.bytesOut,
        ip: row.ip,
        user_agent: row.userAgent,
      });
    },
  };
}

function rowOf(clock: Clock, exchange: Exchange, outcome: Outcome): AccessLogRow {
  const { request, requestId, subject, route, path, ip } = exchange;
  const userAgent = request.headers.get("user-agent") ?? "";
  return {
    at: clock.now(),
    requestId,
    subject,
    method: request.method,
    route,
    path: withoutApiTokens(path.length > pathMax ? path.slice(0, pathMax) : path),
    status: outcome.status,
    durationMs: Math.round(outcome.durationMs),
    bytesOut: outcome.bytesOut,
    ip,
    userAgent: userAgent.length > userAgentMax ? userAgent.slice(0, userAgentMax) : userAgent,
  };
}

const methodLabel = (method: string): MethodLabel => methods.get(method) ?? "other";

const methods: ReadonlyMap<string, MethodLabel> = new Map(
  (["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] as const).map((method) => [method, method]),
);
/** What a row keeps of a path and of a user agent, in characters. */
const pathMax = 1024;
const userAgentMax = 256;
