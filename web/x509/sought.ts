/**
 * What a file of somebody's names: a certificate by its serial, anything with a key by that key's
 * fingerprint. All of it is worked out here; the file is sent nowhere.
 */

import { DerError, openDer, openSequence } from "#core/asn1/cursor.ts";
import { contextualConstructed, tags } from "#core/asn1/tags.ts";
import { partsOf } from "./certificate.ts";
import { attempt } from "./decoded.ts";
import { keyFingerprint } from "./keys.ts";
import { publicOfEc, publicOfPkcs8, publicOfRsa } from "./private-keys.ts";

/** The members of an address to look for it by; or why there is nothing to look for. */
export type Sought =
  | { readonly kind: "certificate"; readonly serial: string; readonly key: string }
  | { readonly kind: "request" | "public key" | "private key"; readonly key: string }
  | { readonly kind: "none"; readonly sentence: string };

/** Looks at a file: PEM or DER, whatever its name ends in. */
export async function soughtIn(octets: Uint8Array): Promise<Sought> {
  if (octets.length > octetsMax) return none("The file is larger than 1 MiB.");
  const block = octets[0] === tags.sequence ? { label: "", der: octets } : firstBlock(octets);
  if (typeof block === "string") return none(block);
  try {
    return await soughtInBlock(block);
  } catch (error) {
    // What is thrown otherwise are faults of the page, and somebody should hear of them.
    if (!(error instanceof DerError)) throw error;
    return none(`The file cannot be read: ${error.message}.`);
  }
}

interface Block {
  /** Of PEM; empty for DER, which does not say what it is. */
  readonly label: string;
  readonly der: Uint8Array;
}

async function soughtInBlock({ label, der }: Block): Promise<Sought> {
  switch (label) {
    case "":
      return await soughtInDer(der);
    case "CERTIFICATE":
    case "X509 CERTIFICATE":
    case "TRUSTED CERTIFICATE":
      return await soughtInCertificate(der);
    case "CERTIFICATE REQUEST":
    case "NEW CERTIFICATE REQUEST":
      return { kind: "request", key: await keyFingerprint(keyOfRequest(der)) };
    case "PUBLIC KEY":
      return { kind: "public key", key: await keyFingerprint(der) };
    case "PRIVATE KEY":
      return await byPrivateKey(await publicOfPkcs8(der));
    case "RSA PRIVATE KEY":
      return await byPrivateKey(publicOfRsa(der));
    case "EC PRIVATE KEY":
      return await byPrivateKey(publicOfEc(der));
    default:
      return none(`A file of ${label} is not looked for; take a certificate, request or key.`);
  }
}

/** Each kind has its own shape; the first that fits is it. */
async function soughtInDer(der: Uint8Array): Promise<Sought> {
  if (attempt(() => partsOf(der)).value !== undefined) return await soughtInCertificate(der);
  const requested = attempt(() => keyOfRequest(der)).value;
  if (requested !== undefined) return { kind: "request", key: await keyFingerprint(requested) };
  if (attempt(() => isPublicKey(der)).value === true) {
    return { kind: "public key", key: await keyFingerprint(der) };
  }
  const kind = attempt(() => privateKind(der)).value;
  if (kind === "pkcs8") return await byPrivateKey(await publicOfPkcs8(der));
  if (kind === "rsa") return await byPrivateKey(publicOfRsa(der));
  if (kind === "ec") return await byPrivateKey(publicOfEc(der));
  return none("The file is neither a certificate nor a request nor a key that is not encrypted.");
}

async function soughtInCertificate(der: Uint8Array): Promise<Sought> {
  const { serial, spki } = partsOf(der);
  const key = await keyFingerprint(spki);
  if (serial.as !== "serial") return { kind: "public key", key };
  return { kind: "certificate", serial: serial.text, key };
}

async function byPrivateKey(spki: Uint8Array | undefined): Promise<Sought> {
  if (spki === undefined) {
    return none("This kind of private key does not say its public one; take the certificate.");
  }
  return { kind: "private key", key: await keyFingerprint(spki) };
}

/** RFC 2986 §4.1: version, subject, key. Throws DerError. */
function keyOfRequest(der: Uint8Array): Uint8Array {
  const tbs = openSequence(der).enter(tags.sequence);
  tbs.small();
  tbs.element(tags.sequence);
  const spki = tbs.element(tags.sequence);
  tbs.enter(contextualConstructed(0));
  return spki;
}

function isPublicKey(der: Uint8Array): boolean {
  const outer = openSequence(der);
  outer.enter(tags.sequence).oid();
  outer.bits();
  outer.finish();
  return true;
}

function privateKind(der: Uint8Array): "pkcs8" | "rsa" | "ec" | undefined {
  const outer = openSequence(der);
  outer.small();
  if (outer.tag === tags.sequence) return "pkcs8";
  if (outer.tag === tags.integer) return "rsa";
  return outer.tag === tags.octetString ? "ec" : undefined;
}

/** The first block of PEM that is not only parameters, or why there is none. */
function firstBlock(octets: Uint8Array): Block | string {
  const found = latin1.decode(octets).matchAll(/-----BEGIN ([A-Z0-9 ]{1,64})-----([^-]*)/g);
  for (const [, label = "", body = ""] of found) {
    if (label === "EC PARAMETERS") continue;
    if (label.includes("ENCRYPTED") || /^Proc-Type:.*ENCRYPTED/m.test(body)) return encrypted;
    const der = decoded(body);
    if (der === undefined) return "The file is not PEM all through: it has no base64.";
    return { label, der };
  }
  const other = attempt(() => openDer(octets).element()).value !== undefined;
  return other ? "The file is DER of another kind." : "The file is neither PEM nor DER.";
}

function decoded(base64: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(base64.replace(/\s/g, "")), (character) => character.charCodeAt(0));
  } catch {
    // Not base64: the caller says so.
    return undefined;
  }
}

const none = (sentence: string): Sought => ({ kind: "none", sentence });
const encrypted = "The key is encrypted; take its certificate or its public key.";
const latin1 = new TextDecoder("latin1");
const octetsMax = 1_048_576;
