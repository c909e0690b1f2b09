/** Certificate and CRL extensions pkid makes and reads (RFC 5280 §4.2, §5.2). */

import type { GeneralName } from "./general-names.ts";

/** One extension: dotted OID, criticality, and the DER inside the OCTET STRING. */
export interface Extension {
  readonly oid: string;
  readonly critical: boolean;
  readonly value: Uint8Array;
}

export const keyUsageBits = {
  digitalSignature: 0,
  nonRepudiation: 1,
  keyEncipherment: 2,
  dataEncipherment: 3,
  keyAgreement: 4,
  keyCertSign: 5,
  cRLSign: 6,
  encipherOnly: 7,
  decipherOnly: 8,
} as const;
export type KeyUsage = keyof typeof keyUsageBits;

/** Names of extended key usages by the words of the configuration; dotted OIDs pass as they are. */
export const extendedKeyUsages = {
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
  codeSigning: "1.3.6.1.5.5.7.3.3",
  emailProtection: "1.3.6.1.5.5.7.3.4",
  timeStamping: "1.3.6.1.5.5.7.3.8",
  OCSPSigning: "1.3.6.1.5.5.7.3.9",
  anyExtendedKeyUsage: "2.5.29.37.0",
} as const;

/** Subtrees by kind: DNS suffixes, CIDRs, e-mail domains or mailboxes, URI hosts, directory names (DER). */
export interface Subtrees {
  readonly dns: readonly string[];
  readonly ip: readonly string[];
  readonly email: readonly string[];
  readonly uri: readonly string[];
  readonly dirNames: readonly Uint8Array[];
}
export interface NameConstraints {
  readonly permitted: Subtrees;
  readonly excluded: Subtrees;
}
export interface PolicyOptions {
  readonly oids: readonly string[];
  readonly cps?: string | undefined;
}

export declare function basicConstraints(ca: boolean, pathLength: number | undefined): Extension;
export declare function keyUsage(usages: readonly KeyUsage[]): Extension;
/** `usages` are words of `extendedKeyUsages` or dotted OIDs; `critical` only for TSA. */
export declare function extendedKeyUsage(usages: readonly string[], critical?: boolean): Extension;
/** RFC 7093 method 1 (leftmost 160 bits of SHA-256) or SHA-1, over the content of the subjectPublicKey BIT STRING. */
export declare function subjectKeyId(spki: Uint8Array, method: "rfc7093" | "sha1"): Uint8Array;
export declare function subjectKeyIdentifier(keyId: Uint8Array): Extension;
export declare function authorityKeyIdentifier(keyId: Uint8Array): Extension;
export declare function subjectAltName(names: readonly GeneralName[], critical: boolean): Extension;
export declare function nameConstraints(value: NameConstraints, critical: boolean): Extension;
export declare function certificatePolicies(value: PolicyOptions, critical: boolean): Extension;
export declare function authorityInfoAccess(urls: {
  readonly ocsp?: string | undefined;
  readonly caIssuers?: string | undefined;
}): Extension;
export declare function crlDistributionPoints(urls: readonly string[]): Extension;
/** TLS feature status_request (RFC 7633). */
export declare function mustStaple(): Extension;
/** id-pkix-ocsp-nocheck (RFC 6960 §4.2.2.2.1). */
export declare function ocspNoCheck(): Extension;
export declare function crlNumber(number: number): Extension;

/** DER SEQUENCE OF Extension. */
export declare function encodeExtensions(extensions: readonly Extension[]): Uint8Array;
/** Reads them in order; a repeated OID or a non-DER critical flag throws DerError. */
export declare function parseExtensions(der: Uint8Array): readonly Extension[];
export declare function parseBasicConstraints(value: Uint8Array): {
  readonly ca: boolean;
  readonly pathLength: number | undefined;
};
export declare function parseKeyUsage(value: Uint8Array): readonly KeyUsage[];
/** Dotted OIDs. */
export declare function parseExtendedKeyUsage(value: Uint8Array): readonly string[];
export declare function parseNameConstraints(value: Uint8Array): NameConstraints;
/** The keyIdentifier, or undefined when the extension has none. */
export declare function parseAuthorityKeyIdentifier(value: Uint8Array): Uint8Array | undefined;
export declare function parseSubjectKeyIdentifier(value: Uint8Array): Uint8Array;
