/** Reads request bodies within their limit, and JSON strictly. */

import { refuse } from "#core/problems.ts";
import { nextTurn } from "#core/turns.ts";

import { parseLongJson } from "./long-json.ts";

/**
 * The octets of the body, at most `bytesMax`. Refuses `body_too_large` by the announced length
 * before a byte is kept, and by counting what comes; `malformed_json` when it breaks off or its
 * chunks are none. Expects a request whose header fields are clear (`unclearHeader`).
 */
export function readBytes(request: Request, bytesMax: number): Promise<Uint8Array> {
  const announced = announcedLength(request.headers);
  if (announced === undefined || announced > bytesMax) return readPieces(request, bytesMax);
  // With a length announced the runtime reads no further, and need not hand over the body in
  // pieces.
  return request.bytes().then((octets) => {
    if (octets.byteLength > bytesMax) throw tooLarge(bytesMax);
    return octets;
  }, brokenOff);
}

async function readPieces(request: Request, bytesMax: number): Promise<Uint8Array> {
  await refuseAnnounced(request, bytesMax);
  if (request.body === null) return new Uint8Array(0);
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(brokenOff);
    if (done) return join(parts, length);
    length += value.byteLength;
    if (length > bytesMax) {
      await discard(reader);
      throw tooLarge(bytesMax);
    }
    parts.push(value);
    // The runtime hands over every chunk by itself, however short, for as long as somebody waits
    // for one, and keeps together what comes while nobody does: a million chunks of an octet took
    // half a second at once.
    await nextTurn();
  }
}

/**
 * The sender's fault and no bug of ours, though the runtime throws; whoever hung up reads no
 * answer.
 */
const brokenOff = (): never => {
  throw refuse("malformed_json"); // Half a body is no JSON text, and nothing else either.
};

/** Undefined where the body says itself when it ends. */
function announcedLength(headers: Headers): number | undefined {
  const announced = headers.get("content-length");
  return announced === null || headers.has("transfer-encoding") ? undefined : Number(announced);
}

/**
 * Refuses `body_too_large` when Content-Length announces more than `bytesMax`, after what is
 * already under way.
 */
export async function refuseAnnounced(request: Request, bytesMax: number): Promise<void> {
  const announced = Number(request.headers.get("content-length") ?? "0");
  if (announced <= bytesMax) return;
  // Whoever waits for leave to send the body (RFC 9110 §10.1.1) has sent nothing of it.
  if (!request.headers.has("expect") && request.body !== null) {
    await discard(request.body.getReader());
  }
  throw tooLarge(bytesMax);
}

const tooLarge = (bytesMax: number) => refuse("body_too_large", { limit_bytes: bytesMax });

/**
 * Reads on without keeping anything, until the end, half a second of silence, or ten seconds. The
 * connection is closed after the refusal, and closing it on octets under way would reset it: a
 * client that is still writing would lose the answer.
 */
async function discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const until = performance.now() + discardMs;
  for (;;) {
    const patience = Math.min(silenceMs, until - performance.now());
    if (patience <= 0 || !(await bringsMore(reader, patience))) break;
    await nextTurn(); // As above.
  }
  await reader.cancel().catch(() => {}); // It has broken off, and nobody waits for it.
}

/**
 * Returns false at the end of the body, when the connection breaks, and after `patienceMs` without
 * data. The time is split into short timers. If the process was stopped, a single long one could
 * expire before the process reads the data that has arrived since.
 */
async function bringsMore(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  patienceMs: number,
): Promise<boolean> {
  const more = reader.read().then(
    ({ done }) => !done,
    () => false,
  );
  for (let timers = 0; timers < silenceTimers; timers++) {
    const wait = Promise.withResolvers<undefined>();
    const timer = setTimeout(wait.resolve, patienceMs / silenceTimers);
    const result = await Promise.race([more, wait.promise]);
    clearTimeout(timer);
    if (result !== undefined) return result;
  }
  return false;
}

/**
 * The name of a header field that two readers could take in two ways: a Content-Length that is not
 * one row of digits (RFC 9112 §6.3), also one that was sent twice, and more than one Host (RFC 9112
 * §3.2). Undefined when there is none.
 */
export function unclearHeader(headers: Headers): "content-length" | "host" | undefined {
  const length = headers.get("content-length");
  if (length !== null && !/^\d+$/.test(length)) return "content-length";
  // The runtime joins fields of one name by commas, which no host name has.
  return headers.get("host")?.includes(",") === true ? "host" : undefined;
}

/**
 * The JSON value of the body, or undefined when the body is empty. Refuses `unsupported_media_type`
 * unless a body comes as `application/json`, `malformed_json` for anything but one UTF-8 JSON text
 * at most 32 levels deep (PRC-5).
 */
export async function readJson(request: Request, bytesMax: number): Promise<unknown> {
  const octets = await readJsonOctets(request, bytesMax);
  return octets && (await parseJsonOfAnyLength(octets));
}

/** The octets of such a body, which nobody has looked into; undefined when it is empty. */
export async function readJsonOctets(
  request: Request,
  bytesMax: number,
): Promise<Uint8Array | undefined> {
  const octets = await readBytes(request, bytesMax);
  if (octets.byteLength === 0) return undefined;
  if (!isJson(request.headers.get("content-type"))) {
    throw refuse("unsupported_media_type", { expected: "application/json" });
  }
  return octets;
}

/**
 * As `parseJson`; what is long is read in turns with other requests, and bounded in its entries
 * too.
 */
export async function parseJsonOfAnyLength(octets: Uint8Array): Promise<unknown> {
  return octets.length > longOctets ? await parseLongJson(octets, depthMax) : parseJson(octets);
}

/**
 * The value of one UTF-8 JSON text; refuses `malformed_json`, also when it nests deeper than 32
 * levels.
 */
export function parseJson(octets: Uint8Array): unknown {
  let text: string;
  try {
    text = utf8.decode(octets);
  } catch {
    throw refuse("malformed_json"); // Octets that are not UTF-8 are not JSON (RFC 8259 §8.1).
  }
  if (nestsDeeperThan(text, depthMax)) throw refuse("malformed_json");
  try {
    return JSON.parse(text);
  } catch {
    throw refuse("malformed_json"); // The parser's own words would quote the body.
  }
}

/** Counts brackets outside strings, so that a hostile depth is refused before anything recurses. */
function nestsDeeperThan(text: string, levels: number): boolean {
  if (opensAtMost(text, levels)) return false;
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (quoted) {
      if (unit === backslash) at++;
      else if (unit === quote) quoted = false;
    } else if (unit === quote) quoted = true;
    else if (unit === openBrace || unit === openBracket) {
      depth++;
      if (depth > levels) return true;
    } else if (unit === closeBrace || unit === closeBracket) depth--;
  }
  return false;
}

/** True for a text that has no more opening brackets than these, wherever they stand. */
function opensAtMost(text: string, levels: number): boolean {
  let left = levels;
  for (const bracket of "{[") {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      left--;
      if (left < 0) return false;
    }
  }
  return true;
}

/** True for `application/json`, whatever its parameters. */
export function isJson(contentType: string | null): boolean {
  const essence = (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase();
  return essence === "application/json";
}

function join(parts: readonly Uint8Array[], length: number): Uint8Array {
  const [only, second] = parts;
  if (only !== undefined && second === undefined) return only;
  const octets = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    octets.set(part, at);
    at += part.byteLength;
  }
  return octets;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const silenceMs = 500;
const discardMs = 10_000;
const silenceTimers = 5;

/** Deepest nesting of objects and lists that is read. */
const depthMax = 32;
/** From here on a text of nothing but values would take long at once. */
const longOctets = 131_072;

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
