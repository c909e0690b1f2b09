/** Public keys that signatures are held against, each imported once. */

import type { ArtefactSignature } from "#core/audit/ledger-verification-artefacts.ts";
import { importPublicKey, type VerificationKey, verifySignature } from "#core/crypto.ts";
import { schemeOf } from "#core/x509/algorithms.ts";
import { type PublicKey, parsePublicKey, signatureFits } from "#core/x509/public-keys.ts";

/** As many as there are CAs. */
export class SignatureKeys {
  readonly #keys = new Map<string, { imported: VerificationKey; parsed: PublicKey } | undefined>();

  /** True when the signature verifies under the SubjectPublicKeyInfo by an algorithm that fits. */
  verifies(spki: Uint8Array, { covered, value, algorithm }: ArtefactSignature): boolean {
    const key = this.#keyOf(spki);
    if (key === undefined || algorithm === undefined) return false;
    if (!signatureFits(key.parsed, algorithm)) return false;
    return verifySignature(key.imported, schemeOf(algorithm), covered, value);
  }

  #keyOf(spki: Uint8Array) {
    const name = spki.toHex();
    if (!this.#keys.has(name)) this.#keys.set(name, read(spki));
    return this.#keys.get(name);
  }
}

function read(spki: Uint8Array) {
  try {
    return { imported: importPublicKey(spki), parsed: parsePublicKey(spki) };
  } catch {
    // A key that cannot be read or imported, such as a point off its curve, has signed nothing.
    return undefined;
  }
}
