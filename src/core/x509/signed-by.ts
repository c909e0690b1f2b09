/** Whether a certificate or list was signed with the key of a certificate. */

import { importPublicKey, verifySignature, verifySignatureAside } from "#core/crypto.ts";

import { type SignatureName, schemeOf } from "./algorithms.ts";
import type { ParsedCertificate } from "./certificate.ts";
import { parsePublicKey, signatureFits } from "./public-keys.ts";

/** What carries a signature. */
type Signed = Pick<ParsedCertificate, "signatureName" | "tbs" | "signature">;

/**
 * True when the signature verifies under this SubjectPublicKeyInfo, with an algorithm of the table
 * that fits the key.
 */
export function signedBy({ signatureName, tbs, signature }: Signed, spki: Uint8Array): boolean {
  const key = signatureName && keyFor(spki, signatureName);
  if (key === undefined || signatureName === undefined) return false;
  return verifySignature(key, schemeOf(signatureName), tbs, signature);
}

/** The same for the thread that serves requests (`verifySignatureAside`). */
export async function signedByAside(
  { signatureName, tbs, signature }: Signed,
  spki: Uint8Array,
): Promise<boolean> {
  const key = signatureName && keyFor(spki, signatureName);
  if (key === undefined || signatureName === undefined) return false;
  return await verifySignatureAside(key, schemeOf(signatureName), tbs, signature);
}

function keyFor(spki: Uint8Array, signature: SignatureName) {
  try {
    return signatureFits(parsePublicKey(spki), signature) ? importPublicKey(spki) : undefined;
  } catch {
    // A key that cannot be read or imported, such as a point off its curve, has signed nothing.
    return undefined;
  }
}
