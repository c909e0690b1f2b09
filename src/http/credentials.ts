/** Reads what a request presents to prove who is asking; nothing is believed here. */

import { apiTokenPrefix } from "#core/access/token-secret.ts";
import type { Authorization, Presented } from "#domain/access/presented.ts";

import type { Cookies } from "./cookies.ts";
import type { Exchange } from "./exchange.ts";

/** All the exchange presents; `osUser` is who a caller on the admin socket is. */
export function presentedBy(exchange: Exchange, cookies: Cookies, osUser: string): Presented {
  const { headers } = exchange.request;
  const header = headers.get("authorization");
  return {
    authorization: header === null ? undefined : readAuthorization(header),
    cookie: cookies.session(headers),
    certificate: exchange.certificate,
    localUser: exchange.side === "local" ? osUser : undefined,
  };
}

/**
 * Reads an `Authorization` value (RFC 9110 §11.4); scheme names are case-insensitive, and an
 * unknown one is none.
 */
export function readAuthorization(header: string): Authorization | undefined {
  const text = header.trim();
  const [scheme = ""] = /^\S+/.exec(text) ?? [];
  const rest = text.slice(scheme.length);
  const credential = rest.replace(/^[ \t]+/, "");
  if (rest !== "" && credential === rest) return undefined; // What parts them is no blank of HTTP.
  switch (scheme.toLowerCase()) {
    case "basic":
      return readBasic(credential);
    case "token":
      return { kind: "token", secret: credential };
    case "bearer":
      return readBearer(credential);
    default:
      return undefined;
  }
}

/** RFC 7617: base64 of UTF-8 `name:password`; the name ends at the first colon. */
function readBasic(credential: string): Authorization {
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
function readBearer(credential: string): Authorization {
  if (credential.startsWith(apiTokenPrefix)) return { kind: "token", secret: credential };
  return /^[\x21-\x7e]+$/.test(credential)
    ? { kind: "bearer", token: credential }
    : malformed("bearer");
}

const malformed = (scheme: "basic" | "bearer"): Authorization => ({ kind: "malformed", scheme });

const credentialMax = 16_384;
const base64Pattern = /^[A-Za-z0-9+/]+={0,2}$/;
