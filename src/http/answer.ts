/** Turns answers and refusals into responses, with the headers every answer carries. */

import { Problem, type ProblemCode } from "#core/problems.ts";
import { nextTurn } from "#core/turns.ts";
import { Document, type Outcome, Stream } from "#domain/access/outcome.ts";

import type { Exchange } from "./exchange.ts";
import { type DerAnswer, requestIdHeader } from "./public.ts";
import { lastingStreamOf, streamOf } from "./streams.ts";

/** A response with the length of its body, which a `Response` does not tell. */
export interface Sized {
  readonly response: Response;
  readonly bytes: number;
}

/** Renders what came of a call; HEAD is left to the listener, which drops the body. */
export async function renderOutcome(exchange: Exchange, outcome: Outcome): Promise<Sized> {
  if (outcome.output instanceof Document) return renderDocument(exchange, outcome.output);
  if (outcome.output instanceof Stream) return renderStream(exchange, outcome.output);
  const text = jsonTextOf(outcome.output);
  const body = typeof text === "string" ? text : await text;
  const headers = { ...jsonHeaders, ...headersOf(outcome) };
  return sized(body, exchange, statuses[outcome.kind], headers);
}

const statuses: Readonly<Record<Outcome["kind"], number>> = {
  done: 200,
  made: 201,
  parked: 202,
  unready: 503,
};

function headersOf({ location, approval, retryAfterSeconds }: Outcome): Record<string, string> {
  return {
    ...(location !== undefined && { location }),
    ...(approval !== undefined && { [approvalHeader]: approval }),
    ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),
  };
}

/**
 * What is made while it is sent has no length beforehand: it goes out in chunks, each read when the
 * receiver has taken the last.
 */
function renderDocument(exchange: Exchange, document: Document): Sized {
  const { content, type, fileName, fleeting } = document;
  const headers: Record<string, string> = {
    "content-type": type,
    ...(fileName !== undefined && {
      "content-disposition": `attachment; filename="${fileName}"`,
    }),
    ...(fleeting && { "cache-control": "no-store" }),
  };
  if (typeof content === "string" || content instanceof Uint8Array || isPieces(content)) {
    return sized(content, exchange, 200, headers);
  }
  return dressed(exchange, new Response(streamOf(content), { status: 200, headers }));
}

/** No proxy may hold back what is told as it happens. */
function renderStream(exchange: Exchange, stream: Stream): Sized {
  const headers = {
    "content-type": stream.type,
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
  };
  if (exchange.request.method === "HEAD") {
    stream.source.close();
    return dressed(exchange, new Response(null, { headers }));
  }
  exchange.timing.lasts();
  return dressed(
    exchange,
    new Response(lastingStreamOf(stream.source, stream.octets), { headers }),
  );
}

/**
 * JSON text; of an object with a long list in it the octets in pieces, a few hundred entries in
 * each turn.
 */
function jsonTextOf(body: unknown): string | Promise<readonly Uint8Array[]> {
  const members: readonly [string, unknown][] = isObject(body) ? Object.entries(body) : [];
  const isLong = ([, value]: [string, unknown]) => Array.isArray(value) && value.length > longList;
  return members.some(isLong) ? longJson(members) : JSON.stringify(body);
}

async function longJson(members: readonly [string, unknown][]): Promise<readonly Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  const write = (text: string) => pieces.push(utf8.encode(text));
  let mark = "{";
  for (const [name, value] of members) {
    if (value === undefined) continue;
    write(`${mark}${JSON.stringify(name)}:`);
    mark = ",";
    if (!Array.isArray(value) || value.length <= longList) {
      write(JSON.stringify(value));
      continue;
    }
    for (let at = 0; at < value.length; at += longList) {
      const entries = JSON.stringify(value.slice(at, at + longList)).slice(1, -1);
      write(`${at === 0 ? "[" : ","}${entries}`);
      await nextTurn();
    }
    write("]");
  }
  write("}");
  return pieces;
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Renders a refusal as `{error, code, request_id, …facts}` (API-3). Anything that is not a
 * `Problem` becomes `internal` (PRC-6): no exception text leaves the server; the caller logs it
 * under the request id.
 */
export function renderProblem(
  exchange: Exchange,
  thrown: unknown,
): Sized & { readonly bug: boolean } {
  const problem = thrown instanceof Problem ? thrown : undefined;
  const code: ProblemCode = problem?.code ?? "internal";
  const facts: Record<string, unknown> = { ...problem?.facts };
  const headers: Record<string, string> = { ...jsonHeaders };
  if ("retry_after" in facts) {
    facts.retry_after = Math.max(1, Math.ceil(Number(facts.retry_after)) || 1);
    headers["retry-after"] = String(facts.retry_after);
  }
  if (problem?.status === 401) Object.assign(headers, challenge(exchange.request));
  if (Array.isArray(facts.allow)) headers.allow = facts.allow.join(", ");
  if (leavesOctets(code)) headers.connection = "close";
  const error = problem?.message ?? "internal error";
  const text = JSON.stringify({ error, code, request_id: exchange.requestId, ...facts });
  const rendered = sized(text, exchange, problem?.status ?? 500, headers);
  return { ...rendered, bug: problem === undefined };
}

/**
 * True when octets of a body that nobody will read may still be under way: the connection cannot be
 * used again.
 */
export const leavesOctets = (code: ProblemCode): boolean =>
  code === "body_too_large" || code === "bad_header";

/** A JSON answer of a public handler, with these `Set-Cookie` values. */
export function jsonResponse(body: unknown, cookies: readonly string[] = []): Response {
  const text = JSON.stringify(body);
  const headers = new Headers(jsonHeaders);
  headers.set("content-length", String(Buffer.byteLength(text)));
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(text, { headers });
}

/** Adds what every answer carries to the answer of a public handler; its own headers win. */
export function dressed(exchange: Exchange, answer: Response | DerAnswer): Sized {
  if (!(answer instanceof Response)) {
    return { response: answer.responseTo(exchange.requestId), bytes: answer.bytes };
  }
  const response = answer;
  const { headers } = response;
  headers.set(requestIdHeader, exchange.requestId);
  if (!isDer(headers.get("content-type"))) {
    for (const [name, value] of commonHeaders) if (!headers.has(name)) headers.set(name, value);
    if (exchange.secure) headers.set("strict-transport-security", transportSecurity);
  }
  return { response, bytes: Number(headers.get("content-length") ?? "0") };
}

/** What is there as a whole. */
type WholeBody = Exclude<Document["content"], AsyncGenerator<Uint8Array>>;

function sized(
  body: WholeBody,
  exchange: Exchange,
  status: number,
  headers: Record<string, string>,
): Sized {
  const bytes = bytesOf(body);
  headers["content-length"] = String(bytes);
  const joined = (pieces: readonly Uint8Array[]) =>
    bytes > atOnceMax ? streamOf(inTurns(pieces)) : Buffer.concat(pieces);
  const whole = isPieces(body) ? joined(body) : body;
  // The DOM types want an ArrayBuffer of its own; Bun sends any view of octets.
  const sent = whole as string | Uint8Array<ArrayBuffer> | ReadableStream;
  return dressed(exchange, new Response(sent, { status, headers }));
}

const isPieces = (body: Document["content"]): body is readonly Uint8Array[] => Array.isArray(body);

function bytesOf(body: WholeBody): number {
  if (typeof body === "string") return Buffer.byteLength(body);
  if (!isPieces(body)) return body.byteLength;
  return body.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/**
 * A piece in each turn: encrypting and copying tens of megabytes for one would keep all others
 * waiting.
 */
async function* inTurns(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    await nextTurn();
    yield piece;
  }
}

/**
 * RFC 9110 §11.6.1; withheld from the console, where a browser would open its own password window.
 */
function challenge(request: Request): Record<string, string> {
  if (request.headers.get("x-requested-with") === "pkid-console") return {};
  return { "www-authenticate": 'Basic realm="pkid", charset="UTF-8", Bearer realm="pkid"' };
}

/** DER goes to relying parties that read no browser header. */
const isDer = (contentType: string | null): boolean =>
  contentType?.startsWith("application/") === true &&
  !contentType.startsWith("application/json") &&
  !contentType.startsWith("application/x-ndjson") &&
  !contentType.startsWith("application/proto") &&
  !contentType.startsWith("application/connect+") &&
  !contentType.startsWith("application/grpc-web") &&
  !contentType.startsWith("application/x-pem-file");

/** Names the request a call was parked as, in answers and in questions. */
export const approvalHeader = "x-pki-approval-id";

const jsonHeaders: Readonly<Record<string, string>> = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};

const commonHeaders: readonly (readonly [string, string])[] = [
  ["x-content-type-options", "nosniff"],
  ["referrer-policy", "no-referrer"],
  ["cross-origin-opener-policy", "same-origin"],
  ["cross-origin-resource-policy", "same-origin"],
];

/** Entries of one turn; a page of any list has no more. */
const longList = 500;
/** Octets that are sent as one. */
const atOnceMax = 1_048_576;
const utf8 = new TextEncoder();

const transportSecurity = "max-age=31536000";
