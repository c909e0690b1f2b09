/** The id of a key, from its public half. */

import { sha256Hex } from "#core/crypto.ts";

/** `KeyRef.id`: lower hex of the first 20 octets of SHA-256 over the SubjectPublicKeyInfo. */
export const keyIdFor = (spki: Uint8Array): string => sha256Hex(spki).slice(0, 40);
