/** Whether one certificate was signed with the key of another. */

import { importPublicKey, verifySignature } from "#core/crypto.ts";

import { schemeOf } from "./algorithms.ts";
import type { ParsedCertificate } from "./certificate.ts";
import { parsePublicKey, signatureFits } from "./public-keys.ts";

/** True when the signature verifies under this SubjectPublicKeyInfo, with an algorithm of the table that fits the key. */
export function signedBy(
  { signatureName, tbs, signature }: ParsedCertificate,
  spki: Uint8Array,
): boolean {
  if (signatureName === undefined) return false;
  try {
    if (!signatureFits(parsePublicKey(spki), signatureName)) return false;
    return verifySignature(importPublicKey(spki), schemeOf(signatureName), tbs, signature);
  } catch {
    // A key that cannot be read or imported, such as a point off its curve, has signed nothing.
    return false;
  }
}
