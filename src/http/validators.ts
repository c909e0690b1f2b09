/** Conditional requests for public artefacts: the headers of what may be cached, and 304 (RFC 9110 §13). */

import type { Instant } from "#core/time.ts";

/** A representation that shared caches may keep. */
export interface Artefact {
  readonly body: Uint8Array | string;
  readonly contentType: string;
  /** Lower hex SHA-256 of the body. */
  readonly sha256: string;
  readonly lastModified: Instant;
  readonly expires: Instant;
  /** Most seconds a shared cache may keep it. */
  readonly maxAgeSeconds: number;
  readonly disposition?: string;
}

/** 200 with validators, or 304 when the asker has these very octets already; HEAD is left to the listener. */
export function cacheable(request: Request, artefact: Artefact, now: Instant): Response {
  const headers = headersOf(artefact, now);
  if (unchanged(request.headers, artefact)) return new Response(null, { status: 304, headers });
  headers["content-type"] = artefact.contentType;
  headers["content-length"] = String(Buffer.byteLength(artefact.body));
  if (artefact.disposition !== undefined) headers["content-disposition"] = artefact.disposition;
  // The DOM types want an ArrayBuffer of its own; Bun sends any view of octets.
  return new Response(artefact.body as string | Uint8Array<ArrayBuffer>, { headers });
}

/**
 * The same for a certificate or bundle, which has no times of its own: an ETag, and a fixed number of seconds in caches.
 */
export function cacheableFor(
  request: Request,
  maxAgeSeconds: number,
  artefact: Pick<Artefact, "body" | "contentType" | "sha256" | "disposition">,
): Response {
  const { body, contentType, sha256, disposition } = artefact;
  const headers: Record<string, string> = {
    ...{ "cache-control": `public, max-age=${maxAgeSeconds}`, etag: `"${sha256}"` },
  };
  if (namesTag(request.headers.get("if-none-match"), sha256)) {
    return new Response(null, { status: 304, headers });
  }
  headers["content-type"] = contentType;
  headers["content-length"] = String(Buffer.byteLength(body));
  if (disposition !== undefined) headers["content-disposition"] = disposition;
  // As in `cacheable`: Bun sends any view of octets.
  return new Response(body as string | Uint8Array<ArrayBuffer>, { headers });
}

/** Seconds from now to `expires`, within 0 and `maxAgeSeconds`. */
export function maxAge(
  artefact: Pick<Artefact, "expires" | "maxAgeSeconds">,
  now: Instant,
): number {
  const seconds = Math.floor((artefact.expires - now) / 1000);
  return Math.max(0, Math.min(seconds, artefact.maxAgeSeconds));
}

/** If-None-Match goes before If-Modified-Since, which it switches off (RFC 9110 §13.2.2). */
function unchanged(headers: Headers, artefact: Artefact): boolean {
  const tags = headers.get("if-none-match");
  if (tags !== null) return namesTag(tags, artefact.sha256);
  const since = headers.get("if-modified-since");
  if (since === null) return false;
  const at = Date.parse(since);
  return !Number.isNaN(at) && artefact.lastModified <= at;
}

/** Weak comparison: a `W/` before the tag changes nothing. */
const namesTag = (tags: string | null, sha256: string): boolean =>
  tags !== null && (tags.trim() === "*" || tags.includes(`"${sha256}"`));

function headersOf(artefact: Artefact, now: Instant): Record<string, string> {
  return {
    "cache-control": `public, max-age=${maxAge(artefact, now)}, no-transform`,
    etag: `"${artefact.sha256}"`,
    "last-modified": httpDate(artefact.lastModified),
    expires: httpDate(artefact.expires),
  };
}

/** IMF-fixdate (RFC 9110 §5.6.7). */
const httpDate = (at: Instant): string => new Date(at).toUTCString();
