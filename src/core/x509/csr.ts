/** Certification requests (RFC 2986), read strictly and never trusted. */

import type { SignatureName } from "./algorithms.ts";
import type { GeneralName } from "./general-names.ts";
import type { Name } from "./names.ts";

export interface CertificationRequest {
  readonly der: Uint8Array;
  /** CertificationRequestInfo, the octets the signature covers. */
  readonly info: Uint8Array;
  readonly subject: Name;
  readonly spki: Uint8Array;
  readonly sans: readonly GeneralName[];
  /** Texts of subject alternative names of other kinds. */
  readonly unsupportedNames: readonly string[];
  /** True when the request asks for TLS feature 5. */
  readonly mustStaple: boolean;
  readonly challengePassword: string | undefined;
  readonly signatureName: SignatureName | undefined;
  readonly signature: Uint8Array;
}

/**
 * Reads one PEM or DER request of at most 64 KiB; attributes other than extensionRequest and challengePassword
 * are ignored. Refuses `bad_csr` with a closed `reason` for everything else, trailing octets included.
 */
export declare function parseCsr(input: string | Uint8Array): CertificationRequest;
/** True when the request is signed by the key inside it (proof of possession). */
export declare function csrSignatureValid(request: CertificationRequest): boolean;
