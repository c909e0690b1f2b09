/**
 * What an OCSP client is told when its request was turned away before anybody read it (STAT-1,
 * RATE-1).
 */

import { encodeOcspError } from "#core/x509/ocsp.ts";
import type { Problem } from "#core/problems.ts";

/**
 * A tryLater answer under the problem's own status, for refusals that time heals: 429 and 503, both
 * with `Retry-After` where the problem says when. Undefined for every other problem.
 */
export function ocspRefusal(problem: Problem): Response | undefined {
  if (problem.status !== 429 && problem.status !== 503) return undefined;
  const headers: Record<string, string> = {
    "content-type": "application/ocsp-response",
    "cache-control": "no-store",
    "content-length": String(tryLater.byteLength),
  };
  const after = Number(problem.facts.retry_after);
  if (after > 0) headers["retry-after"] = String(Math.ceil(after));
  // The DOM types want an ArrayBuffer of its own; Bun sends any view of octets.
  return new Response(tryLater as Uint8Array<ArrayBuffer>, { status: problem.status, headers });
}

const tryLater = encodeOcspError("tryLater");
