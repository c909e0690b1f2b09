/**
 * Questions asked before, with what is known of them: asked again, one is neither read anew nor
 * looked up.
 */

import type { CaId, Serial } from "#core/ids.ts";
import type { HashName } from "#core/crypto.ts";
import { Recent } from "#core/recent.ts";
import type { Instant } from "#core/time.ts";
import { type CertId, certIdIn } from "#core/x509/ocsp.ts";
import { type Issuer, type Lineage, latin1 } from "./issuers.ts";
import type { CertStatus } from "./store.ts";

/** A certID under the CA id it was asked under. */
export class Question implements CertId {
  /** Names CA id and certID, octet for octet. */
  readonly key: string;
  readonly der: Uint8Array;
  readonly hash: HashName | undefined;
  readonly issuerNameHash: Uint8Array;
  readonly issuerKeyHash: Uint8Array;
  readonly serial: Serial | undefined;
  /** The member of a lineage that it names; another lineage has to be asked anew. */
  named: { readonly lineage: Lineage; readonly issuer: Issuer } | undefined;
  /** What was found of its serial, and under which CA. */
  known: KnownStatus | undefined;

  constructor(key: string, certId: CertId) {
    this.key = key;
    this.der = certId.der;
    this.hash = certId.hash;
    this.issuerNameHash = certId.issuerNameHash;
    this.issuerKeyHash = certId.issuerKeyHash;
    this.serial = certId.serial;
  }
}

/** What was found, at which number of the revocation sequence. */
export interface KnownStatus {
  readonly caId: CaId;
  readonly certStatus: CertStatus;
  readonly sequence: number;
  readonly keepUntil: Instant;
}

/** A bounded number of them. */
export class Questions {
  readonly #kept: Recent<string, Question>;

  constructor(max: number) {
    const measure = ({ length }: string) => 3 * length + entryBytes;
    this.#kept = new Recent(max, { max: bytesMax, measure });
  }

  /** The question of a certID, DER; throws DerError. */
  read(id: CaId, certId: Uint8Array): Question {
    // DER says where it ends, so that no two of them make the same text.
    const key = `${latin1(certId)}${id}`;
    // A copy: what is kept must not keep the message it came in.
    return this.#kept.get(key) ?? new Question(key, certIdIn(certId.slice()));
  }

  /**
   * Keeps one that has been answered: whoever asks about serials that nobody knows drives out no
   * other.
   */
  keep(question: Question): void {
    if (this.#kept.get(question.key) !== question) this.#kept.set(question.key, question);
  }
}

/** Bytes of an entry without its key, its DER and the hashes in it. */
const entryBytes = 500;
const bytesMax = 16 * 1024 ** 2;
