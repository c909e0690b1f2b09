/** Recognises the requests relying parties send by the million, before any router looks at them. */

import { type OperationName, routeOf } from "#operations";

import type { Match } from "./exchange.ts";

/**
 * The match the router would find for the OCSP and CRL rows, by plain string comparison; undefined
 * for every other path and for a CA id that would have to be decoded. A test holds it against the
 * router.
 */
export function hotMatch(method: string, path: string): Match | undefined {
  if (!path.startsWith(prefix)) return undefined;
  const idEnd = path.indexOf("/", prefix.length);
  if (idEnd <= prefix.length) return undefined;
  const id = path.slice(prefix.length, idEnd);
  if (id.includes("%")) return undefined;
  const fetches = method === "GET" || method === "HEAD";
  if (path.startsWith("ocsp/", idEnd + 1)) {
    const request = path.slice(idEnd + 6);
    if (!fetches || request === "") return undefined;
    return { operation: "ocsp.get", route: ocspGet, path: { id, request } };
  }
  const rest = path.slice(idEnd + 1);
  if (rest === "ocsp" && method === "POST") return match("ocsp.post", ocspPost, id);
  if (rest === "crl" && fetches) return match("crl.read", crlRead, id);
  return undefined;
}

const match = (operation: OperationName, route: string, id: string): Match => ({
  operation,
  route,
  path: { id },
});

const prefix = "/api/ca/";
const ocspGet = routeOf("ocsp.get").path;
const ocspPost = routeOf("ocsp.post").path;
const crlRead = routeOf("crl.read").path;
