/** Reads what a request presents to prove who is asking; nothing is believed here. */

import type { Presented } from "#domain/access/presented.ts";
import { tokenPrefix } from "#domain/access/tokens.ts";

import type { Exchange } from "./exchange.ts";

/**
 * The credential of the exchange in the order of HTTP contract §2.1: an `Authorization` header never falls through,
 * an unknown scheme counts as none, and only the admin socket makes a caller without credential its owner.
 */
export function presentedBy(exchange: Exchange, osUser: string): Presented {
  const header = exchange.request.headers.get("authorization");
  const presented = header === null ? none : readAuthorization(header);
  if (presented.kind !== "none" || exchange.side !== "local") return presented;
  return { kind: "local", user: osUser };
}

/** Reads an `Authorization` value (RFC 9110 §11.4); scheme names are case-insensitive. */
export function readAuthorization(header: string): Presented {
  const [, scheme = "", credential = ""] = /^\s*(\S+)(?:[ \t]+(.*?))?\s*$/s.exec(header) ?? [];
  switch (scheme.toLowerCase()) {
    case "basic":
      return readBasic(credential);
    case "token":
      return { kind: "token", secret: credential };
    case "bearer":
      return readBearer(credential);
    default:
      return none;
  }
}

/** RFC 7617: base64 of UTF-8 `name:password`; the name ends at the first colon. */
function readBasic(credential: string): Presented {
  if (credential.length > credentialMax || !base64Pattern.test(credential)) {
    return malformed("basic");
  }
  try {
    const octets = Uint8Array.fromBase64(credential);
    const pair = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(octets);
    const colon = pair.indexOf(":");
    if (colon === -1) return malformed("basic");
    return { kind: "basic", name: pair.slice(0, colon), password: pair.slice(colon + 1) };
  } catch {
    return malformed("basic"); // Neither the octets nor the decoder's complaint may reach a log.
  }
}

/** A malformed token is presented as it is: it is unknown like any other, and counted so. */
function readBearer(credential: string): Presented {
  if (credential.startsWith(tokenPrefix)) return { kind: "token", secret: credential };
  return /^[\x21-\x7e]+$/.test(credential)
    ? { kind: "bearer", token: credential }
    : malformed("bearer");
}

const malformed = (scheme: "basic" | "bearer"): Presented => ({ kind: "malformed", scheme });

const none: Presented = { kind: "none" };
const credentialMax = 16_384;
const base64Pattern = /^[A-Za-z0-9+/]+={0,2}$/;
