/** Public keys that signatures are held against, each imported once. */

import type { ArtefactSignature } from "#core/audit/ledger-verification-artefacts.ts";
import {
  importPublicKey,
  type VerificationKey,
  verifySignature,
  verifySignatureElsewhere,
} from "#core/crypto.ts";
import { schemeOf } from "#core/x509/algorithms.ts";
import {
  fingerprint,
  type PublicKey,
  parsePublicKey,
  signatureFits,
} from "#core/x509/public-keys.ts";

import type { KeySet } from "./key-set.ts";
import { verifiedText } from "./pair.ts";

/** As many as there are CAs. */
export class SignatureKeys {
  readonly #keys = new Map<string, Known>();
  readonly #met = new WeakMap<Uint8Array, Known>();
  readonly #verified: KeySet | undefined;

  /** `verified` has the `verifiedText` of signatures that were verified before. */
  constructor(verified?: KeySet) {
    this.#verified = verified;
  }

  /** True for a signature, as `signedText` has it, that was verified under this key before. */
  hasVerified(spki: Uint8Array, signed: string): boolean {
    const { key, fingerprint: name } = this.#known(spki);
    return key !== undefined && this.#verified?.has(verifiedText(name, signed)) === true;
  }

  /** True when the signature verifies under the SubjectPublicKeyInfo by an algorithm that fits. */
  verifies(spki: Uint8Array, { covered, value, algorithm }: ArtefactSignature): boolean {
    const { key } = this.#known(spki);
    if (key === undefined || algorithm === undefined) return false;
    if (!signatureFits(key.parsed, algorithm)) return false;
    return verifySignature(key.imported, schemeOf(algorithm), covered, value);
  }

  /** The same, by other threads where they can, so that whoever has many goes on reading. */
  async verifiesElsewhere(
    spki: Uint8Array,
    { covered, value, algorithm }: ArtefactSignature,
  ): Promise<boolean> {
    const { key } = this.#known(spki);
    if (key === undefined || algorithm === undefined) return false;
    if (!signatureFits(key.parsed, algorithm)) return false;
    return await verifySignatureElsewhere(key.imported, schemeOf(algorithm), covered, value);
  }

  /** As events and the ledger name the key. */
  fingerprintOf(spki: Uint8Array): string {
    return this.#known(spki).fingerprint;
  }

  #known(spki: Uint8Array): Known {
    const met = this.#met.get(spki);
    if (met !== undefined) return met;
    const name = spki.toHex();
    const known = this.#keys.get(name) ?? { key: read(spki), fingerprint: fingerprint(spki) };
    this.#keys.set(name, known);
    this.#met.set(spki, known);
    return known;
  }
}

interface Known {
  /** Undefined for one that has signed nothing. */
  readonly key: { readonly imported: VerificationKey; readonly parsed: PublicKey } | undefined;
  readonly fingerprint: string;
}

function read(spki: Uint8Array): Known["key"] {
  try {
    return { imported: importPublicKey(spki), parsed: parsePublicKey(spki) };
  } catch {
    return undefined; // It cannot be read or imported, such as a point off its curve.
  }
}
