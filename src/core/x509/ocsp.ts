/** OCSP requests and responses (RFC 6960, RFC 9654). */

import type { HashName } from "#core/crypto.ts";
import type { Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { SignatureName } from "./algorithms.ts";
import type { RevocationReason } from "./reasons.ts";

/** One certificate asked about. */
export interface CertId {
  /** DER of the CertID exactly as asked; echoed in the answer. */
  readonly der: Uint8Array;
  /** Undefined for a hash pkid does not know. */
  readonly hash: HashName | undefined;
  readonly issuerNameHash: Uint8Array;
  readonly issuerKeyHash: Uint8Array;
  /** Undefined for a serial outside 1..2^160−1, which no CA here ever issued. */
  readonly serial: Serial | undefined;
}

export interface OcspRequest {
  readonly certIds: readonly CertId[];
  /** Octets of the nonce, 1..128; undefined when absent. */
  readonly nonce: Uint8Array | undefined;
}

export type SingleStatus =
  | { readonly status: "good" }
  | { readonly status: "unknown" }
  | { readonly status: "revoked"; readonly at: Instant; readonly reason: RevocationReason };

export interface SingleAnswer {
  readonly certId: Uint8Array;
  readonly status: SingleStatus;
  readonly thisUpdate: Instant;
  readonly nextUpdate: Instant;
}

export interface ResponseFields {
  /** DER of the responder's subject: byName responder id. */
  readonly responder: Uint8Array;
  readonly producedAt: Instant;
  readonly answers: readonly SingleAnswer[];
  readonly nonce: Uint8Array | undefined;
}

export const ocspStatus = {
  successful: 0,
  malformedRequest: 1,
  internalError: 2,
  tryLater: 3,
  sigRequired: 5,
  unauthorized: 6,
} as const;

/**
 * Reads an OCSPRequest of at most 64 KiB and 1..32 entries. Gives undefined for everything the responder answers with
 * malformedRequest: not DER, no entry, nonce empty or over 128 octets, unknown critical extension.
 */
export declare function parseOcspRequest(der: Uint8Array): OcspRequest | undefined;
/** DER of ResponseData, the octets to be signed. */
export declare function encodeResponseData(fields: ResponseFields): Uint8Array;
/** DER of a successful OCSPResponse around a signed BasicOCSPResponse; `certificates` are DER. */
export declare function encodeOcspResponse(
  responseData: Uint8Array,
  algorithm: SignatureName,
  signature: Uint8Array,
  certificates: readonly Uint8Array[],
): Uint8Array;
/** DER of a response that carries only a status word (five octets). */
export declare function encodeOcspError(
  status: Exclude<keyof typeof ocspStatus, "successful">,
): Uint8Array;
/** DER of a request for one serial with SHA-1 or SHA-256 hashes, as `pkid ocsp check` asks it. */
export declare function encodeOcspRequest(question: {
  readonly issuerName: Uint8Array;
  readonly issuerSpki: Uint8Array;
  readonly serial: Serial;
  readonly hash: "sha1" | "sha256";
  readonly nonce?: Uint8Array | undefined;
}): Uint8Array;
/** Reads a response; signature and freshness are the caller's to check. Throws DerError. */
export declare function parseOcspResponse(der: Uint8Array): ParsedOcspResponse;

export interface ParsedOcspResponse {
  readonly status: keyof typeof ocspStatus;
  readonly basic?: {
    readonly tbs: Uint8Array;
    readonly producedAt: Instant;
    readonly answers: readonly (Omit<SingleAnswer, "nextUpdate"> & {
      readonly nextUpdate: Instant | undefined;
      readonly serial: Serial;
    })[];
    readonly nonce: Uint8Array | undefined;
    readonly signatureName: SignatureName | undefined;
    readonly signature: Uint8Array;
    readonly certificates: readonly Uint8Array[];
  };
}
