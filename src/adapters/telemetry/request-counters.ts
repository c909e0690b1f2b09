/**
 * Counts what comes by the hundred thousand: HTTP requests at the one seam they all pass, OCSP
 * answers, key operations.
 */

import { operations, routeOf, routesOf } from "#operations";

import type { Metrics, Series } from "./families.ts";
import type { LabelsOf } from "./metrics.ts";

type Method = LabelsOf<"pki_http_requests_total">["method"];

/**
 * What the HTTP observer calls; the duration series of every row exist from the start. Series are
 * kept by route and method, so that a request costs two look-ups and no allocation.
 */
export function requestCounters(metrics: Metrics) {
  const routes = new Map<string, Map<Method, RouteSeries>>();
  for (const row of Object.values(operations)) {
    for (const { method, path } of routesOf(row)) {
      seriesOf(metrics, routes, method as Method, path); // The table's methods are label values.
    }
  }
  let inFlight = 0;
  // Under load one request is like the last, whose series are still at hand.
  let last:
    | { readonly method: Method; readonly route: string; readonly series: RouteSeries }
    | undefined;
  metrics.beforeScrape(() => metrics.set("pki_http_requests_in_flight", {}, inFlight));
  return {
    began(): void {
      inFlight++;
    },
    ended(method: Method, route: string, status: number, seconds: number): void {
      inFlight--;
      if (last?.route !== route || last.method !== method) {
        last = { method, route, series: seriesOf(metrics, routes, method, route) };
      }
      const { series } = last;
      series.duration.observe(seconds);
      answered(metrics, series, method, route, status).value++;
      if (crlRoutes.has(route)) {
        metrics.count("pki_crl_requests_total", { result: status < 400 ? "success" : "error" });
      }
    },
  };
}

/**
 * Counts OCSP answers by status word (RFC 6960 §4.2.1); unauthorized and tryLater are errors to
 * whoever asked.
 */
export function ocspCounter(metrics: Metrics): (status: string) => void {
  const series = {
    success: metrics.series("pki_ocsp_requests_total", { result: "success" }),
    malformed: metrics.series("pki_ocsp_requests_total", { result: "malformed" }),
    error: metrics.series("pki_ocsp_requests_total", { result: "error" }),
  };
  return (status) => {
    if (status === "successful") series.success.value++;
    else if (status === "malformedRequest") series.malformed.value++;
    else series.error.value++;
  };
}

/** Counts operations of keys, by whether they succeeded, with their duration in seconds. */
export function keyOperationCounter(
  metrics: Metrics,
): (operation: KeyOperation, succeeded: boolean, seconds: number) => void {
  const known = new Map<KeyOperation, KeySeries>();
  const seriesOfKeys = (operation: KeyOperation): KeySeries => {
    const fresh = {
      success: metrics.series("pki_hsm_operations_total", { operation, result: "success" }),
      error: metrics.series("pki_hsm_operations_total", { operation, result: "error" }),
      duration: metrics.series("pki_hsm_operation_duration_seconds", { operation }),
    };
    known.set(operation, fresh);
    return fresh;
  };
  return (operation, succeeded, seconds) => {
    const series = known.get(operation) ?? seriesOfKeys(operation);
    series.duration.observe(seconds);
    if (succeeded) series.success.value++;
    else series.error.value++;
  };
}

type KeyOperation = LabelsOf<"pki_hsm_operations_total">["operation"];

/** The series of one operation. */
interface KeySeries {
  readonly success: Series;
  readonly error: Series;
  readonly duration: Series;
}

/** The series of one route and method. */
interface RouteSeries {
  readonly duration: Series;
  readonly byStatus: Map<number, Series>;
}

function seriesOf(
  metrics: Metrics,
  routes: Map<string, Map<Method, RouteSeries>>,
  method: Method,
  route: string,
): RouteSeries {
  const known = routes.get(route)?.get(method);
  if (known !== undefined) return known;
  const duration = metrics.series("pki_http_request_duration_seconds", { method, route });
  const fresh = { duration, byStatus: new Map<number, Series>() };
  routes.set(route, (routes.get(route) ?? new Map<Method, RouteSeries>()).set(method, fresh));
  return fresh;
}

function answered(
  metrics: Metrics,
  { byStatus }: RouteSeries,
  method: Method,
  route: string,
  status: number,
): Series {
  const known = byStatus.get(status);
  if (known !== undefined) return known;
  const labels = { method, route, status: String(status) };
  const fresh = metrics.series("pki_http_requests_total", labels);
  byStatus.set(status, fresh);
  return fresh;
}

const crlRoutes: ReadonlySet<string> = new Set(
  (["crl.read", "crl.delta", "crl.partition", "crl.partition_delta"] as const).map(
    (name) => routeOf(name).path,
  ),
);
