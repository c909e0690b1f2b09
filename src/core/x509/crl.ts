/** Certificate revocation lists (RFC 5280 §5). */

import type { Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { SignatureName } from "./algorithms.ts";
import type { Extension } from "./extensions.ts";
import type { RevocationReason } from "./reasons.ts";

export interface CrlEntry {
  readonly serial: Serial;
  readonly revokedAt: Instant;
  /** `unspecified` writes no extension; `removeFromCRL` only in deltas. */
  readonly reason: RevocationReason | "removeFromCRL";
}

export interface TbsCertList {
  readonly signature: SignatureName;
  readonly issuer: Uint8Array;
  readonly thisUpdate: Instant;
  readonly nextUpdate: Instant;
  /** Encoded entries, each from `encodeCrlEntry`, in order. */
  readonly entries: readonly Uint8Array[];
  readonly extensions: readonly Extension[];
}

export interface ParsedCrl {
  readonly der: Uint8Array;
  readonly tbs: Uint8Array;
  readonly issuer: Uint8Array;
  readonly thisUpdate: Instant;
  readonly nextUpdate: Instant | undefined;
  readonly entries: readonly CrlEntry[];
  readonly extensions: readonly Extension[];
  readonly number: number | undefined;
  readonly signatureName: SignatureName | undefined;
  readonly signature: Uint8Array;
}

/** DER of one revokedCertificates entry. */
export declare function encodeCrlEntry(entry: CrlEntry): Uint8Array;
/** DER of a v2 TBSCertList; without entries the list is absent (§5.1.2.6). Join it with `assembleSigned`. */
export declare function encodeTbsCertList(fields: TbsCertList): Uint8Array;
/** Reads a CRL; throws DerError. */
export declare function parseCrl(der: Uint8Array): ParsedCrl;
