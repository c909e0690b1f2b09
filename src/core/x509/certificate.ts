/** Certificates: encode the to-be-signed part, join it with a signature, and read them back (RFC 5280 §4.1). */

import type { Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { SignatureName } from "./algorithms.ts";
import type { Extension } from "./extensions.ts";
import type { Name } from "./names.ts";

export interface TbsCertificate {
  readonly serial: Serial;
  readonly signature: SignatureName;
  /** DER of the issuer's subject, byte for byte. */
  readonly issuer: Uint8Array;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  /** DER of the subject. */
  readonly subject: Uint8Array;
  readonly spki: Uint8Array;
  readonly extensions: readonly Extension[];
}

export interface ParsedCertificate {
  readonly der: Uint8Array;
  readonly tbs: Uint8Array;
  readonly version: number;
  readonly serial: Serial;
  readonly issuer: Name;
  readonly subject: Name;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  readonly spki: Uint8Array;
  readonly extensions: readonly Extension[];
  /** OID of the outer algorithm, and its name when the table knows it. */
  readonly signatureOid: string;
  readonly signatureName: SignatureName | undefined;
  readonly signature: Uint8Array;
}

/** DER of a v3 TBSCertificate; times from 2050 on are GeneralizedTime (§4.1.2.5). */
export declare function encodeTbsCertificate(fields: TbsCertificate): Uint8Array;
/** SEQUENCE { tbs, AlgorithmIdentifier, BIT STRING }: certificate, CRL and CSR alike. */
export declare function assembleSigned(
  tbs: Uint8Array,
  algorithm: SignatureName,
  signature: Uint8Array,
): Uint8Array;
/** DER of an AlgorithmIdentifier of the table. */
export declare function algorithmIdentifier(algorithm: SignatureName): Uint8Array;
/** Reads a certificate; inner and outer algorithm must agree. Throws DerError. */
export declare function parseCertificate(der: Uint8Array): ParsedCertificate;
/** The first extension with this OID. */
export declare function extensionOf(
  certificate: Pick<ParsedCertificate, "extensions">,
  oid: string,
): Extension | undefined;
