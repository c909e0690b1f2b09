/** Conditional requests for public artefacts: the headers of what may be cached, and 304 (RFC 9110 §13). */

import type { Instant } from "#core/time.ts";

import type { DerAnswer } from "./public.ts";

/** Octets or text to serve; `sha256` is the lower hex digest of the body, its strong ETag. */
export interface Content {
  readonly body: Uint8Array | string;
  readonly contentType: string;
  readonly sha256: string;
  readonly disposition?: string;
}

/** Content that shared caches may keep until a time. */
export interface TimedContent extends Content {
  readonly lastModified: Instant;
  readonly expires: Instant;
  /** Most seconds a shared cache may keep it. */
  readonly maxAgeSeconds: number;
}

/** Timed content with all its headers written that do not change from request to request. */
export interface Artefact {
  readonly content: TimedContent;
  readonly validators: Readonly<Record<string, string>>;
  readonly described: Readonly<Record<string, string>>;
}

/** Prepares content that is going to be sent more than once. */
export function artefact(content: TimedContent): Artefact {
  const { sha256, lastModified, expires } = content;
  const times = { "last-modified": httpDate(lastModified), expires: httpDate(expires) };
  return { content, validators: { etag: tagOf(sha256), ...times }, described: described(content) };
}

/** 200 with validators, or 304 when the asker has these very octets already; HEAD is left to the listener. */
export function cacheable(request: Request, given: Artefact, now: Instant): Response {
  const { content, validators } = given;
  const cacheControl = `public, max-age=${maxAge(content, now)}, no-transform`;
  const headers = { "cache-control": cacheControl, ...validators };
  if (unchanged(request.headers, content)) return new Response(null, { status: 304, headers });
  return new Response(octets(content), { headers: { ...headers, ...given.described } });
}

/** An artefact that is sent again and again: the headers are written once for every second, not for every request. */
export class Repeated {
  readonly #artefact: Artefact;
  readonly #bytes: number;
  #maxAge = -1;
  #headers: Readonly<Record<string, string>> = {};

  constructor(given: Artefact) {
    this.#artefact = given;
    this.#bytes = Buffer.byteLength(given.content.body);
  }

  /** What `cacheable` would answer. */
  answer(request: Request, now: Instant): DerAnswer {
    const { content, validators, described: about } = this.#artefact;
    const seconds = maxAge(content, now);
    if (seconds !== this.#maxAge) {
      this.#maxAge = seconds;
      const cacheControl = `public, max-age=${seconds}, no-transform`;
      this.#headers = { "cache-control": cacheControl, ...validators, ...about };
    }
    if (unchanged(request.headers, content)) {
      return { response: cacheable(request, this.#artefact, now), bytes: 0 };
    }
    const response = new Response(octets(content), { headers: this.#headers });
    return { response, bytes: this.#bytes };
  }
}

/**
 * The same for a certificate or bundle, which has no times of its own: an ETag, and a fixed number of seconds in caches.
 */
export function cacheableFor(request: Request, maxAgeSeconds: number, content: Content): Response {
  const headers = {
    ...{ "cache-control": `public, max-age=${maxAgeSeconds}`, etag: tagOf(content.sha256) },
  };
  if (namesTag(request.headers.get("if-none-match"), content)) {
    return new Response(null, { status: 304, headers });
  }
  return new Response(octets(content), { headers: { ...headers, ...described(content) } });
}

/** Seconds from now to `expires`, within 0 and `maxAgeSeconds`. */
function maxAge({ expires, maxAgeSeconds }: TimedContent, now: Instant): number {
  return Math.max(0, Math.min(Math.floor((expires - now) / 1000), maxAgeSeconds));
}

/** If-None-Match goes before If-Modified-Since, which it switches off (RFC 9110 §13.2.2). */
function unchanged(headers: Headers, content: TimedContent): boolean {
  const tags = headers.get("if-none-match");
  if (tags !== null) return namesTag(tags, content);
  const since = headers.get("if-modified-since");
  if (since === null) return false;
  const at = Date.parse(since);
  return !Number.isNaN(at) && content.lastModified <= at;
}

/** Weak comparison: a `W/` before the tag changes nothing. */
const namesTag = (tags: string | null, { sha256 }: Content): boolean =>
  tags !== null && (tags.trim() === "*" || tags.includes(tagOf(sha256)));

const tagOf = (sha256: string): string => `"${sha256}"`;

const described = ({ body, contentType, disposition }: Content): Record<string, string> => ({
  "content-type": contentType,
  "content-length": String(Buffer.byteLength(body)),
  ...(disposition === undefined ? {} : { "content-disposition": disposition }),
});

// The DOM types want an ArrayBuffer of its own; Bun sends any view of octets.
const octets = ({ body }: Content) => body as string | Uint8Array<ArrayBuffer>;

/** IMF-fixdate (RFC 9110 §5.6.7). */
const httpDate = (at: Instant): string => new Date(at).toUTCString();
