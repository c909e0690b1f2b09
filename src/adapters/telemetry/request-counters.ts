/** Counts HTTP requests at the one seam they all pass, and the CRL downloads among them. */

import { type OperationName, operations, routeOf } from "#operations";

import type { LabelsOf } from "./metrics.ts";
import type { Metrics } from "./families.ts";

type Method = LabelsOf<"pki_http_requests_total">["method"];

/** What the HTTP observer calls; the duration series of every row exist from the start. */
export function requestCounters(metrics: Metrics) {
  for (const name of Object.keys(operations) as OperationName[]) {
    const { method, path } = routeOf(name); // The table's own keys; its methods are label values.
    metrics.prepare("pki_http_request_duration_seconds", { method: method as Method, route: path });
  }
  let inFlight = 0;
  return {
    began(): void {
      metrics.set("pki_http_requests_in_flight", {}, ++inFlight);
    },
    ended(method: Method, route: string, status: number, seconds: number): void {
      metrics.set("pki_http_requests_in_flight", {}, --inFlight);
      metrics.count("pki_http_requests_total", { method, route, status: String(status) });
      metrics.observe("pki_http_request_duration_seconds", { method, route }, seconds);
      if (route === crlRoute) {
        metrics.count("pki_crl_requests_total", { result: status < 400 ? "success" : "error" });
      }
    },
  };
}

const crlRoute = routeOf("crl.read").path;
