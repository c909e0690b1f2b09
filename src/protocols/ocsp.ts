/** GET and POST /api/ca/{id}/ocsp: OCSP over HTTP (RFC 6960 appendix A, RFC 5019 §5), built to answer from memory. */

import { sha256Hex } from "#core/crypto.ts";
import { caId } from "#core/ids.ts";
import type { Clock } from "#domain/ports.ts";
import type { Ocsp, OcspAnswer } from "#domain/revocation/ocsp.ts";
import { readBytes } from "#http/body.ts";
import type { PublicHandler } from "#http/public.ts";
import { type Artefact, artefact, cacheable } from "#http/validators.ts";

interface Deps {
  readonly ocsp: Pick<Ocsp, "answer" | "stillTrue">;
  readonly clock: Clock;
  /** `ocsp.http_max_age_seconds`; 0 means until nextUpdate. */
  readonly httpMaxAgeSeconds: number;
  /** Most request paths remembered with their answer. */
  readonly pathsMax: number;
  /** Told the status word of every answer, also of one from memory. */
  readonly onAnswer: (status: OcspAnswer["status"]) => void;
}

/** Handlers for both OCSP forms; whatever the status word, HTTP says 200 unless the guard shed the request. */
export function ocspHandlers(deps: Deps): { get: PublicHandler; post: PublicHandler } {
  const day = 86_400;
  const maxAgeSeconds = deps.httpMaxAgeSeconds === 0 ? day : Math.min(deps.httpMaxAgeSeconds, day);
  const paths = new Map<string, Remembered>();

  const remember = (path: string, answer: OcspAnswer): Remembered | undefined => {
    if (answer.validity === undefined) return undefined;
    const { thisUpdate: lastModified, nextUpdate: expires } = answer.validity;
    const sha256 = sha256Hex(answer.der);
    const times = { lastModified, expires, maxAgeSeconds };
    const remembered = {
      answer,
      rendered: artefact({ body: answer.der, contentType, sha256, ...times }),
    };
    if (path.length > pathLengthMax) return remembered;
    paths.delete(path);
    paths.set(path, remembered);
    const oldest = paths.keys().next().value;
    if (paths.size > deps.pathsMax && oldest !== undefined) paths.delete(oldest);
    return remembered;
  };

  return {
    get: async ({ request, path: { id = "", request: rest = "" } }) => {
      const path = `${id}/${rest}`;
      const known = paths.get(path);
      if (known !== undefined && (await deps.ocsp.stillTrue(known.answer))) {
        deps.onAnswer(known.answer.status);
        return cacheable(request, known.rendered, deps.clock.now());
      }
      const answer = await deps.ocsp.answer(caId(id), requestOctets(rest));
      deps.onAnswer(answer.status);
      const fresh = remember(path, answer);
      if (fresh === undefined) return uncacheable(answer);
      return cacheable(request, fresh.rendered, deps.clock.now());
    },
    post: async ({ request, path: { id = "" } }) => {
      const octets = await readBytes(request, requestBytesMax);
      const answer = await deps.ocsp.answer(caId(id), octets);
      deps.onAnswer(answer.status);
      return uncacheable(answer);
    },
  };
}

/** An answer a GET path led to, and how it is sent. */
interface Remembered {
  readonly answer: OcspAnswer;
  readonly rendered: Artefact;
}

/**
 * The request in the rest of a GET path: raw slashes, percent-encoding, standard or URL-safe base64, padded or not
 * (OCS-5). What is not base64 gives no octets, which the responder answers with malformedRequest.
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

/** POST answers, nonces, unknown and errors are for the asker alone; a shed request may come again later. */
function uncacheable({ der, retryAfter }: OcspAnswer): Response {
  const headers: Record<string, string> = {
    "content-type": contentType,
    "cache-control": "no-store",
    "content-length": String(der.byteLength),
  };
  if (retryAfter !== undefined) headers["retry-after"] = String(Math.max(1, Math.ceil(retryAfter)));
  const status = retryAfter === undefined ? 200 : 503;
  // The DOM types want an ArrayBuffer of its own; Bun sends any view of octets.
  return new Response(der as Uint8Array<ArrayBuffer>, { status, headers });
}

const contentType = "application/ocsp-response";
const nothing = new Uint8Array(0);
const requestBytesMax = 65_536;
const pathBytesMax = 90_000;
const pathLengthMax = 512;
