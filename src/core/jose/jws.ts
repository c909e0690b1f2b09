/**
 * Reads and verifies signed tokens in compact form (RFC 7515, RFC 8725): strictly, and with keys
 * the reader chose. The library verifies; it reads more than counts here, so what it is given has
 * been read first.
 */

import { errors, flattenedVerify } from "jose";

import { fitOf, type JwsAlgorithm, parseAlgorithm } from "./algorithms.ts";
import type { ProviderKey } from "./keys.ts";

/** A token as it says it is; nothing of it is true before its signature is verified. */
export interface Jws {
  readonly algorithm: JwsAlgorithm;
  readonly kid: string | undefined;
  /** Lower case, without `application/`. */
  readonly type: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly signed: Uint8Array;
  readonly signature: Uint8Array;
}

/** Whether a signature holds; `unknown_key` when a newer key set might know the key. */
export type Verdict = "good" | "bad" | "unknown_key";

/**
 * Reads a compact token whose payload is a JSON object. Undefined for anything else, for an
 * algorithm that is not in the table, and for extensions that must be understood. Keys in the
 * header are not looked at.
 */
export function parseJws(token: string): Jws | undefined {
  if (token.length > jwtLengthMax) return undefined;
  const [head = "", body = "", tail = "", ...more] = token.split(".");
  const header = jsonObject(decoded(head));
  const claims = jsonObject(decoded(body));
  const signature = decoded(tail);
  if (more.length > 0 || header === undefined || claims === undefined) return undefined;
  const algorithm = parseAlgorithm(header.alg);
  if (algorithm === undefined || signature === undefined) return undefined;
  // RFC 7515 §4.1.11: what must be understood is not understood here; `b64` would change what is
  // signed.
  if (Object.hasOwn(header, "crit") || Object.hasOwn(header, "b64")) return undefined;
  const kid = header.kid;
  const typ = header.typ;
  if (kid !== undefined && typeof kid !== "string") return undefined;
  if (typ !== undefined && typeof typ !== "string") return undefined;
  const type = typ?.toLowerCase().replace(/^application\//, "");
  const signed = new TextEncoder().encode(`${head}.${body}`);
  return { algorithm, kid, type, claims, signed, signature };
}

/** Verifies with the key the token names, or the only one that fits when it names none. */
export async function verifyJws(jws: Jws, keys: readonly ProviderKey[]): Promise<Verdict> {
  const { kind, signatureBytes } = fitOf(jws.algorithm);
  const fitting = keys.filter(
    (one) => one.kind === kind && (one.algorithm === undefined || one.algorithm === jws.algorithm),
  );
  const named = jws.kid === undefined ? fitting : fitting.filter((one) => one.kid === jws.kid);
  const [chosen, second] = named;
  if (chosen === undefined) return "unknown_key";
  // Two keys of one name, or no name and a choice: whose signature it is cannot be said.
  if (second !== undefined) return "bad";
  if (signatureBytes !== undefined && jws.signature.length !== signatureBytes) return "bad";
  return (await isSignedBy(jws, chosen)) ? "good" : "bad";
}

async function isSignedBy(
  { algorithm, signed, signature }: Jws,
  { key }: ProviderKey,
): Promise<boolean> {
  const [head = "", payload = ""] = new TextDecoder().decode(signed).split(".");
  const given = { protected: head, payload, signature: signature.toBase64(base64url) };
  try {
    await flattenedVerify(given, key, { algorithms: [algorithm] });
    return true;
  } catch (error) {
    // Whatever it refuses is not signed; what is no refusal of its is a bug.
    if (error instanceof errors.JOSEError) return false;
    throw error;
  }
}

const base64url = { alphabet: "base64url", omitPadding: true } as const;

/** Base64url without padding in its one canonical spelling (RFC 7515 §2). */
function decoded(text: string): Uint8Array | undefined {
  if (text === "" || !/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  const octets = Buffer.from(text, "base64url");
  return octets.toString("base64url") === text ? new Uint8Array(octets) : undefined;
}

function jsonObject(octets: Uint8Array | undefined): Readonly<Record<string, unknown>> | undefined {
  if (octets === undefined) return undefined;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(octets);
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return value as Readonly<Record<string, unknown>>; // Checked to be an object on the line above.
  } catch {
    return undefined; // No JSON, or no UTF-8: no token.
  }
}

const jwtLengthMax = 65_536;
