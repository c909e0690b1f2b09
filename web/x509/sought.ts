/**
 * What a file of somebody's names: a certificate by its serial, anything with a key by that key's
 * fingerprint. All of it is worked out here; the file is sent nowhere.
 */

import { DerError, openDer } from "#core/asn1/cursor.ts";
import { tags } from "#core/asn1/tags.ts";
import { sizeFault } from "#web/file-size.ts";
import { partsOf } from "./certificate.ts";
import { attempt } from "./decoded.ts";
import { keyFingerprint } from "./keys.ts";
import { base64In, keyOfRequest, kindOf, privateForm } from "./kinds.ts";
import { publicOfEc, publicOfPkcs8, publicOfRsa } from "./private-keys.ts";

/** The members of an address to look for it by; or why there is nothing to look for. */
export type Sought =
  | { readonly kind: "certificate"; readonly serial: string; readonly key: string }
  | { readonly kind: "request" | "public key" | "private key"; readonly key: string }
  | { readonly kind: "none"; readonly sentence: string };

/** The same of a file, which is not read at all where it is too large. */
export async function soughtInFile(file: Blob): Promise<Sought> {
  const tooLarge = sizeFault(file.size, octetsMax);
  if (tooLarge !== undefined) return none(tooLarge);
  return await soughtIn(new Uint8Array(await file.arrayBuffer()));
}

/** Looks at what is in a file: PEM or DER, whatever its name ends in, or base64 alone. */
export async function soughtIn(octets: Uint8Array): Promise<Sought> {
  const tooLarge = sizeFault(octets.length, octetsMax);
  if (tooLarge !== undefined) return none(tooLarge);
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
      // Its digest would be that of the secret, were it a private key under another name.
      return await soughtInDer(der);
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

/** Each kind has its own shape. */
async function soughtInDer(der: Uint8Array): Promise<Sought> {
  switch (kindOf(der)) {
    case "certificate":
      return await soughtInCertificate(der);
    case "request":
      return { kind: "request", key: await keyFingerprint(keyOfRequest(der)) };
    case "public key":
      return { kind: "public key", key: await keyFingerprint(der) };
    case "private key":
      return await soughtInPrivateKey(der);
    case "encrypted private key":
      return none(encrypted);
    case "PKCS #12":
    case undefined:
      return none(
        "The file is neither a certificate nor a request nor a key that is not encrypted.",
      );
  }
}

async function soughtInPrivateKey(der: Uint8Array): Promise<Sought> {
  const form = privateForm(der);
  if (form === "pkcs8") return await byPrivateKey(await publicOfPkcs8(der));
  return await byPrivateKey(form === "rsa" ? publicOfRsa(der) : publicOfEc(der));
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

/** The first block of PEM that is not only parameters, or why there is none. */
function firstBlock(octets: Uint8Array): Block | string {
  const found = latin1.decode(octets).matchAll(/-----BEGIN ([A-Z0-9 ]{1,64})-----([^-]*)/g);
  for (const [, label = "", body = ""] of found) {
    if (label === "EC PARAMETERS") continue;
    if (label.includes("ENCRYPTED") || /^Proc-Type:.*ENCRYPTED/m.test(body)) return encrypted;
    const der = base64In(body);
    if (der === undefined) return "The file is not PEM all through: it has no base64.";
    return { label, der };
  }
  const bare = base64In(latin1.decode(octets));
  if (bare?.[0] === tags.sequence) return { label: "", der: bare };
  const other = attempt(() => openDer(octets).element()).value !== undefined;
  return other ? "The file is DER of another kind." : "The file is neither PEM nor DER.";
}

const none = (sentence: string): Sought => ({ kind: "none", sentence });
const encrypted = "The key is encrypted; take its certificate or its public key.";
const latin1 = new TextDecoder("latin1");
const octetsMax = 1_048_576;
