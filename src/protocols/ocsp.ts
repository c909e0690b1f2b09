/**
 * GET and POST /api/ca/{id}/ocsp: OCSP over HTTP (RFC 6960 appendix A, RFC 5019 §5), built to
 * answer from memory.
 */

import { sha256Hex } from "#core/crypto.ts";
import { caId } from "#core/ids.ts";
import { Recent } from "#core/recent.ts";
import type { Clock } from "#domain/ports.ts";
import type { Ocsp, OcspAnswer } from "#domain/revocation/ocsp.ts";
import { readBytes } from "#http/body.ts";
import { DerAnswer, type DerHandler, type PublicRequest } from "#http/public.ts";
import { artefact, Repeated } from "#http/validators.ts";

interface Deps {
  readonly ocsp: Pick<Ocsp, "answer" | "stillTrue">;
  readonly clock: Clock;
  readonly config: {
    /** 0 means until nextUpdate. */
    readonly ocsp: { readonly http_max_age_seconds: number };
    /** Most request URLs remembered with their answer. */
    readonly server: { readonly ocsp_cache_entries: number };
  };
  /** Told the status word of every answer, also of one from memory. */
  readonly onAnswer: (status: OcspAnswer["status"]) => void;
}

/**
 * Handlers for both OCSP forms; whatever the status word, HTTP says 200 unless the guard shed the
 * request or the database is away.
 */
export function ocspHandlers(deps: Deps): { get: DerHandler; post: DerHandler } {
  const day = 86_400;
  const { ocsp, server } = deps.config;
  const maxAgeSeconds = Math.min(ocsp.http_max_age_seconds || day, day);
  const urls = new Recent<string, Remembered>(server.ocsp_cache_entries, {
    max: urlBytesMax,
    measure: ({ length }) => 2 * length + cachedBytes,
  });
  const once = answeredOnce(deps);
  const sent = (request: Request, { answer, repeated }: Remembered): DerAnswer => {
    deps.onAnswer(answer.status);
    return repeated.answer(request, deps.clock.now());
  };
  const asked = async ({ request, path }: PublicRequest): Promise<DerAnswer> => {
    const { id = "", request: rest = "" } = path;
    const answer = await deps.ocsp.answer(caId(id), requestOctets(rest));
    const remembered = memorable(answer, maxAgeSeconds);
    if (remembered === undefined) return once(answer);
    // Answers about several serials have no basis, and are never given twice.
    if (answer.basis !== undefined && request.url.length <= urlLengthMax) {
      urls.set(request.url, remembered);
    }
    return sent(request, remembered);
  };

  const forms: { get: DerHandler; post: DerHandler } = {
    // Without a promise wherever the answer is known: relying parties ask the same by the hundred
    // thousand.
    get: (call) => {
      const known = urls.get(call.request.url);
      if (known === undefined) return asked(call);
      const still = deps.ocsp.stillTrue(known.answer);
      if (still === true) return sent(call.request, known);
      if (still === false) return asked(call);
      return still.then(
        (valid) => (valid ? sent(call.request, known) : asked(call)),
        () => asked(call), // The responder says what is wrong, in its own words.
      );
    },
    post: ({ request, path: { id = "" } }) =>
      readBytes(request, requestBytesMax)
        .then((octets) => deps.ocsp.answer(caId(id), octets))
        .then(once),
  };
  return {
    get: Object.assign(forms.get, {
      ...description,
      summary: "OCSP with the request in the path.",
    }),
    post: Object.assign(forms.post, {
      ...description,
      summary: "OCSP with the request in the body.",
      takes: "application/ocsp-request",
    }),
  };
}

/**
 * Answers POST, nonces, unknown and errors, which are for the asker alone; a shed request may come
 * again later.
 */
function answeredOnce({ onAnswer }: Pick<Deps, "onAnswer">): (answer: OcspAnswer) => DerAnswer {
  /** Copied into every response. */
  const unkept = new Headers({ "content-type": contentType, "cache-control": "no-store" });
  return ({ der, status, retryAfter }) => {
    onAnswer(status);
    if (retryAfter === undefined) return new DerAnswer(der, unkept);
    const headers = new Headers(unkept);
    headers.set("retry-after", String(Math.max(1, Math.ceil(retryAfter))));
    return new DerAnswer(der, headers, 503);
  };
}

const description = { gives: ["application/ocsp-response"] };

/** An answer a URL led to, and how it is sent. */
interface Remembered {
  readonly answer: OcspAnswer;
  readonly repeated: Repeated;
}

/** Undefined for what is for the asker alone. */
function memorable(answer: OcspAnswer, maxAgeSeconds: number): Remembered | undefined {
  if (answer.validity === undefined) return undefined;
  const { nextUpdate: expires } = answer.validity;
  // Asked by time, an answer would have to be older than the change it does not know: it has its
  // ETag only.
  const times = { publishedAt: undefined, expires, maxAgeSeconds };
  const content = { body: answer.der, contentType, sha256: sha256Hex(answer.der), ...times };
  return { answer, repeated: new Repeated(artefact(content)) };
}

/**
 * The request in the rest of a GET path: raw slashes, percent-encoding, standard or URL-safe
 * base64, padded or not (OCS-5). What is not base64 gives no octets, which the responder answers
 * with malformedRequest.
 */
export function requestOctets(rest: string): Uint8Array {
  if (rest.length > pathBytesMax) return nothing;
  const text = rest.includes("%") ? unescaped(rest) : rest;
  const plain = text
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replace(/={1,2}$/, "");
  // The runtime would skip white space, which no OCSP client sends.
  if (!/^[A-Za-z0-9+/]+$/.test(plain)) return nothing;
  try {
    return Uint8Array.fromBase64(plain);
  } catch {
    return nothing; // A length no base64 has.
  }
}

function unescaped(rest: string): string {
  try {
    return decodeURIComponent(rest);
  } catch {
    return ""; // A stray percent sign: not a request.
  }
}

const contentType = "application/ocsp-response";
const nothing = new Uint8Array(0);
const requestBytesMax = 65_536;
const pathBytesMax = 90_000;
const urlLengthMax = 512;
const urlBytesMax = 32 * 1024 ** 2;
/** Bytes of a cached response and its headers, without its URL. */
const cachedBytes = 1500;
