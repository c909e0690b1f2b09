/**
 * What was signed, beside the ledger entries that say so: each artefact where the store still has
 * it (LED-3).
 */

import type { LedgerEntry, SignPurpose } from "#core/audit/ledger.ts";
import { type CaId, caId, parseSerial } from "#core/ids.ts";
import { assert } from "#core/problems.ts";
import type { Store } from "#domain/store.ts";

/** As much of a CA as a document of its operations tells. */
interface SigningCa {
  readonly label: string;
  /** The request that an externally signed CA made, DER. */
  readonly csr: Uint8Array | undefined;
}

/** A successful signature of a CA key with what it is under. */
export interface SignOperation {
  /** The outcome. */
  readonly entry: LedgerEntry;
  readonly ca: SigningCa | undefined;
  /** Who asked, where the artefact itself remembers; empty where only the events do. */
  readonly requestedBy: string;
  readonly artefact: Artefact;
}

/**
 * The octets signed, DER; a list in the pieces it is stored in. `absent` is what the store does not
 * keep: superseded CRLs, OCSP answers that a CA key signed itself, what a ceremony that came to
 * nothing had signed.
 */
export type Artefact =
  | { readonly kind: "certificate"; readonly der: Uint8Array }
  | { readonly kind: "der"; readonly pieces: () => AsyncGenerator<Uint8Array> }
  | { readonly kind: "absent" };

/** Finds the artefacts of outcomes; CAs are looked up once. */
export class SignOperations {
  readonly #read: Store["read"];
  readonly #cas = new Map<string, SigningCa | undefined>();

  constructor({ read }: Pick<Store, "read">) {
    this.#read = read;
  }

  /** True for entries that have an operation: successful signatures (rule V4). */
  static has({ kind, operation, result }: LedgerEntry): boolean {
    return kind === "outcome" && operation === "sign" && result === "success";
  }

  /** The operation of an outcome. */
  async of(entry: LedgerEntry): Promise<SignOperation> {
    const ca = entry.caId === "" ? undefined : await this.#ca(caId(entry.caId));
    const certified = certifying.has(entry.purpose);
    const found = certified ? await this.#certified(entry) : undefined;
    if (found !== undefined) {
      const { der, requestedBy } = found;
      return { entry, ca, requestedBy, artefact: { kind: "certificate", der } };
    }
    const artefact = certified ? absent : await this.#other(entry, ca);
    return { entry, ca, requestedBy: "", artefact };
  }

  async #certified(entry: LedgerEntry) {
    const [ca, serial] = [caId(entry.caId), parseSerial(entry.artifact)];
    if (entry.purpose === "precertificate") {
      const kept = await this.#read.transparency.precertificate(ca, serial);
      return kept && { der: kept.certificate, requestedBy: "" };
    }
    const stored = await this.#read.certificates.bySerial(ca, serial);
    // Of a tombstone nothing is there to be held against the entry.
    if (stored === undefined || stored.certificate.length === 0) return undefined;
    return { der: stored.certificate, requestedBy: stored.requestedBy };
  }

  async #other(entry: LedgerEntry, ca: SigningCa | undefined): Promise<Artefact> {
    switch (entry.purpose) {
      case "csr":
        return ca?.csr === undefined ? absent : inOne(ca.csr);
      case "self_test":
        // Nothing else remembers it, so its outcome carries it.
        return entry.artifact === "" ? absent : inOne(Uint8Array.fromBase64(entry.artifact));
      case "crl":
      case "delta_crl":
        return await this.#list(entry);
      default:
        return absent;
    }
  }

  async #list(entry: LedgerEntry): Promise<Artefact> {
    const list = { caId: caId(entry.caId), ...listNamed(entry.artifact) };
    const first = await this.#read.revocations.crlPiece(list, 0);
    if (first === undefined) return absent;
    const read = this.#read;
    return {
      kind: "der",
      pieces: async function* () {
        let octets = 0;
        for (let at = 0; ; at += 1) {
          const piece = at === 0 ? first : await read.revocations.crlPiece(list, at);
          if (piece === undefined) break;
          octets += piece.length;
          yield piece;
        }
        // Pruned while it was read: better no document than one with half a list.
        assert(octets === derLength(first), "a stored list is whole");
      },
    };
  }

  async #ca(id: CaId): Promise<SigningCa | undefined> {
    if (!this.#cas.has(id)) this.#cas.set(id, await this.#read.cas.byId(id));
    return this.#cas.get(id);
  }
}

/** The scope and number in `<scope>#<number>`. */
export function listNamed(artifact: string): { readonly scope: string; readonly number: number } {
  const at = artifact.lastIndexOf("#");
  return { scope: artifact.slice(0, at), number: Number(artifact.slice(at + 1)) };
}

/** Octets of the element that begins here, tag and length included (X.690 §8.1.3). */
function derLength(octets: Uint8Array): number {
  const [, length = 0] = octets;
  if (length < 0x80) return 2 + length;
  const size = length & 0x7f;
  return octets.slice(2, 2 + size).reduce((sum, octet) => sum * 256 + octet, 0) + 2 + size;
}

const inOne = (der: Uint8Array): Artefact => ({
  kind: "der",
  pieces: async function* () {
    yield der;
  },
});

const absent: Artefact = { kind: "absent" };

/** Purposes whose artefact is a certificate, named by its serial. */
export const certifying: ReadonlySet<SignPurpose | ""> = new Set([
  "certificate",
  "precertificate",
  "ca_certificate",
  "cross_certificate",
  "responder_certificate",
]);
