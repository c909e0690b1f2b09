/**
 * Conditional requests for public artefacts: the headers of what may be cached, and 304 (RFC 9110
 * §13).
 */

import { addSeconds, type Instant, instant, wholeSecond } from "#core/time.ts";
import { byteRange, cut } from "./ranges.ts";

import { DerAnswer } from "./public.ts";
import { streamOf } from "./streams.ts";

/** Octets or text to serve; `sha256` is the lower hex digest of the body, its strong ETag. */
export interface Content {
  readonly body: Uint8Array | string;
  readonly contentType: string;
  readonly sha256: string;
  readonly disposition?: string;
}

/** Content that shared caches may keep until a time. */
export interface TimedContent extends Content {
  /** When it was published; undefined where nobody may ask by time. */
  readonly publishedAt: Instant | undefined;
  readonly expires: Instant;
  /** Most seconds a shared cache may keep it. */
  readonly maxAgeSeconds: number;
}

/** Timed content with all its headers written that do not change from request to request. */
export interface Artefact {
  readonly content: TimedContent;
  /** Those that are the same at every moment. */
  readonly validators: Readonly<Record<string, string>>;
  readonly described: Readonly<Record<string, string>>;
}

/** Prepares content that is going to be sent more than once. */
export function artefact(content: TimedContent): Artefact {
  const { sha256, expires } = content;
  const validators = { etag: tagOf(sha256), expires: httpDate(expires) };
  return { content, validators, described: described(content) };
}

/** Timed content that is too long to be held: its octets come when they are asked for. */
export interface LongContent extends Omit<TimedContent, "body"> {
  /** Octets of the whole. */
  readonly size: number;
  /** The pieces from the one that holds octet `first` on, with the offset of its beginning. */
  from(first: number): { readonly offset: number; readonly pieces: AsyncIterable<Uint8Array> };
}

/**
 * 200, 206 for one range of octets, 304 as `cacheable`, or 416; HEAD is told the length and nothing
 * is read. A range is ignored when If-Range names another version (RFC 9110 §13.1.5).
 */
export async function cacheableInParts(
  request: Request,
  content: LongContent,
  now: Instant,
): Promise<Response> {
  const { content: facts, validators } = artefact({ ...content, body: "" });
  const caching = {
    "cache-control": cacheControl(content, now),
    ...validators,
    ...lastModified(content, now),
  };
  const headers = { ...caching, "accept-ranges": "bytes", ...kindOf(facts) };
  if (unchanged(request.headers, facts, now)) {
    return new Response(null, { status: 304, headers: caching });
  }
  const { size } = content;
  const wanted = namesVersion(request.headers.get("if-range"), content)
    ? byteRange(request.headers.get("range"), size)
    : undefined;
  if (wanted === "none") {
    const unsatisfied = { ...caching, "content-range": `bytes */${size}` };
    return new Response(null, { status: 416, headers: unsatisfied });
  }
  const range = wanted ?? { first: 0, last: size - 1 };
  const status = wanted === undefined ? 200 : 206;
  const length = { "content-length": String(range.last + 1 - range.first) };
  const place = wanted && { "content-range": `bytes ${range.first}-${range.last}/${size}` };
  const described = { ...headers, ...length, ...place };
  if (request.method === "HEAD") return new Response(null, { status, headers: described });
  const { offset, pieces } = content.from(range.first);
  const body = cut(pieces, offset, range);
  const short = range.last - range.first < wholeOctetsMax;
  return new Response(short ? await inWhole(body) : streamOf(body), { status, headers: described });
}

// What is sent as one piece goes out with its length, and not in chunks.
async function inWhole(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  for await (const piece of pieces) parts.push(piece);
  return Buffer.concat(parts);
}

/**
 * 200 with validators, or 304 when the asker has these very octets already; HEAD is left to the
 * listener.
 */
export function cacheable(request: Request, given: Artefact, now: Instant): Response {
  const { content, validators } = given;
  const headers = {
    "cache-control": cacheControl(content, now),
    ...validators,
    ...lastModified(content, now),
  };
  if (unchanged(request.headers, content, now)) return new Response(null, { status: 304, headers });
  return new Response(octets(content), { headers: { ...headers, ...given.described } });
}

/**
 * An artefact that is sent again and again: the headers are written once for every second, not for
 * every request.
 */
export class Repeated {
  readonly #artefact: Artefact;
  readonly #body: Uint8Array;
  #maxAge = -1;
  /** Its headers are copied into every response, which costs a third of writing them anew. */
  #whole: DerAnswer | undefined;

  constructor(given: Artefact) {
    const { body } = given.content;
    this.#artefact = given;
    this.#body = typeof body === "string" ? Buffer.from(body) : body;
  }

  /** What `cacheable` would answer. */
  answer(request: Request, now: Instant): DerAnswer {
    const { content } = this.#artefact;
    const seconds = maxAge(content, now);
    const whole = seconds === this.#maxAge ? this.#whole : undefined;
    if (!unchanged(request.headers, content, now)) return whole ?? this.#written(seconds);
    return new DerAnswer(undefined, cacheable(request, this.#artefact, now).headers, 304);
  }

  #written(seconds: number): DerAnswer {
    const { validators, described: about } = this.#artefact;
    const cacheControl = `public, max-age=${seconds}, no-transform`;
    const headers = new Headers({ "cache-control": cacheControl, ...validators, ...about });
    const whole = new DerAnswer(this.#body, headers);
    this.#maxAge = seconds;
    this.#whole = whole;
    return whole;
  }
}

/**
 * The same for a certificate or bundle, which has no times of its own: an ETag, and a fixed number
 * of seconds in caches.
 */
export function cacheableFor(request: Request, maxAgeSeconds: number, content: Content): Response {
  const headers = {
    "cache-control": `public, max-age=${maxAgeSeconds}`,
    etag: tagOf(content.sha256),
  };
  if (namesTag(request.headers.get("if-none-match"), content)) {
    return new Response(null, { status: 304, headers });
  }
  return new Response(octets(content), { headers: { ...headers, ...described(content) } });
}

const cacheControl = (content: Omit<TimedContent, "body">, now: Instant): string =>
  `public, max-age=${maxAge(content, now)}, no-transform`;

/** Seconds from now to `expires`, within 0 and `maxAgeSeconds`. */
function maxAge(
  { expires, maxAgeSeconds }: Pick<TimedContent, "expires" | "maxAgeSeconds">,
  now: Instant,
): number {
  return Math.max(0, Math.min(Math.floor((expires - now) / 1000), maxAgeSeconds));
}

/**
 * If-None-Match goes before If-Modified-Since, which it switches off (RFC 9110 §13.2.2). A time
 * that has not come says nothing (RFC 9110 §13.1.3): no copy is from then.
 */
function unchanged(headers: Headers, content: TimedContent, now: Instant): boolean {
  const tags = headers.get("if-none-match");
  if (tags !== null) return namesTag(tags, content);
  const since = headers.get("if-modified-since");
  const modified = secondAfter(content);
  if (since === null || modified === undefined) return false;
  const at = Date.parse(since);
  return !Number.isNaN(at) && modified <= at && at <= now;
}

/** RFC 9110 §8.8.2.1: never later than now. */
function lastModified(
  content: Pick<TimedContent, "publishedAt">,
  now: Instant,
): Record<string, string> {
  const modified = secondAfter(content);
  if (modified === undefined) return {};
  return { "last-modified": httpDate(instant(Math.min(modified, now))) };
}

/**
 * The first whole second after publication. HTTP has no shorter times, and a copy taken in the same
 * second, before it, must not be confirmed as current.
 */
const secondAfter = ({ publishedAt }: Pick<TimedContent, "publishedAt">): Instant | undefined =>
  publishedAt && addSeconds(wholeSecond(publishedAt), 1);

/** Weak comparison: a `W/` before the tag changes nothing. */
const namesTag = (tags: string | null, { sha256 }: Content): boolean =>
  tags !== null && (tags.trim() === "*" || tags.includes(tagOf(sha256)));

const tagOf = (sha256: string): string => `"${sha256}"`;

/** True without If-Range, or when it names this very version by its tag or time. */
function namesVersion(value: string | null, content: Omit<TimedContent, "body">): boolean {
  if (value === null || value.trim() === tagOf(content.sha256)) return true;
  return Date.parse(value) === secondAfter(content);
}

const described = (content: Content): Record<string, string> => ({
  ...kindOf(content),
  "content-length": String(Buffer.byteLength(content.body)),
});

const kindOf = ({ contentType, disposition }: Content): Record<string, string> => ({
  "content-type": contentType,
  ...(disposition === undefined ? {} : { "content-disposition": disposition }),
});

// The DOM types want an ArrayBuffer of its own; Bun sends any view of octets.
const octets = ({ body }: Content) => body as string | Uint8Array<ArrayBuffer>;

/** IMF-fixdate (RFC 9110 §5.6.7). */
const httpDate = (at: Instant): string => new Date(at).toUTCString();

const wholeOctetsMax = 1024 * 1024;
