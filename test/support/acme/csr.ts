/** Certification requests of subscribers, and what their certificates say, by another library. */

import { createHash } from "node:crypto";

import { x509 } from "#test/support/encodings/peculiar.ts";

/** The kinds of keys a subscriber brings. */
export type SubscriberKey = "P-256" | "P-384" | "RSA-2048" | "RSA-1024" | "Ed25519";

export interface CsrOptions {
  readonly names?: readonly string[];
  readonly ips?: readonly string[];
  /** Others than names and addresses. */
  readonly others?: readonly { readonly type: "email" | "url"; readonly value: string }[];
  readonly commonName?: string;
  /** The whole subject in the place of a common name, as RFC 4514 writes it. */
  readonly subject?: string;
  readonly keys?: CryptoKeyPair;
  readonly kind?: SubscriberKey;
}

/** A request in DER with the keys that made it. */
export interface Csr {
  readonly der: Buffer;
  readonly keys: CryptoKeyPair;
}

/** Makes one; every name stands in the subject alternative name. */
export async function newCsr(options: CsrOptions): Promise<Csr> {
  const { names = [], ips = [], others = [], commonName, kind = "P-256" } = options;
  const keys = options.keys ?? (await subscriberKeys(kind));
  const sans = [
    ...names.map((value) => ({ type: "dns" as const, value })),
    ...ips.map((value) => ({ type: "ip" as const, value })),
    ...others,
  ];
  const made = await x509.Pkcs10CertificateRequestGenerator.create({
    name: options.subject ?? (commonName === undefined ? "" : `CN=${commonName}`),
    keys,
    signingAlgorithm: { hash: "SHA-256", ...keys.privateKey.algorithm },
    extensions: sans.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(sans)],
  });
  return { der: Buffer.from(made.rawData), keys };
}

/** Keys of one kind. */
export async function subscriberKeys(kind: SubscriberKey): Promise<CryptoKeyPair> {
  const { subtle } = globalThis.crypto;
  if (kind === "Ed25519") return await subtle.generateKey(kind, true, uses);
  if (kind === "P-256" || kind === "P-384") {
    return await subtle.generateKey({ name: "ECDSA", namedCurve: kind }, true, uses);
  }
  const modulusLength = kind === "RSA-1024" ? 1024 : 2048;
  const publicExponent = Uint8Array.of(1, 0, 1);
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", modulusLength, publicExponent };
  return await subtle.generateKey(algorithm, true, uses);
}

/** What a certificate says of itself. */
export interface CertificateFacts {
  readonly der: Buffer;
  /** Decimal. */
  readonly serial: string;
  /** RFC 9773 §4.1. */
  readonly certId: string;
  readonly subject: string;
  readonly names: readonly string[];
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly sha256: string;
}

/** Reads a certificate in PEM. */
export function factsOf(pem: string): CertificateFacts {
  const certificate = new x509.X509Certificate(pem);
  const der = Buffer.from(certificate.rawData);
  const issuer = certificate.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId ?? "";
  const sans = certificate.getExtension(x509.SubjectAlternativeNameExtension)?.names;
  const serial = Buffer.from(certificate.serialNumber, "hex");
  return {
    der,
    serial: BigInt(`0x${certificate.serialNumber}`).toString(),
    certId: `${Buffer.from(issuer, "hex").toString("base64url")}.${contentOf(serial)}`,
    subject: certificate.subject,
    names: (sans?.items ?? []).map(({ value }) => value),
    notBefore: certificate.notBefore,
    notAfter: certificate.notAfter,
    sha256: createHash("sha256").update(der).digest("hex"),
  };
}

/** The content octets of the INTEGER: a first bit that is set has an octet of zero before it. */
const contentOf = (serial: Buffer): string =>
  Buffer.concat([(serial[0] ?? 0) > 127 ? Buffer.of(0) : Buffer.of(), serial]).toString(
    "base64url",
  );

const uses = ["sign", "verify"] as const satisfies readonly KeyUsage[];
