/** The heads of sign requests, kept because a key signs again and again. */

import type { SignatureName } from "#core/x509/algorithms.ts";
import type { KeyRef } from "#domain/key-ref.ts";

import { signHead } from "./requests.ts";

/** A bounded number of heads, by key and algorithm. */
export class SignHeads {
  readonly #heads = new Map<string, Uint8Array>();

  /** Of the request before: under load the next is by the same key. */
  #last: { key: KeyRef; algorithm: SignatureName; head: Uint8Array } | undefined;

  /** The head of every request to sign with this key and algorithm. */
  of(key: KeyRef, algorithm: SignatureName): Uint8Array {
    const last = this.#last;
    if (last?.key === key && last.algorithm === algorithm) return last.head;
    const head = this.#find(key, algorithm);
    this.#last = { key, algorithm, head };
    return head;
  }

  #find(key: KeyRef, algorithm: SignatureName): Uint8Array {
    const name = `${key.id}/${algorithm}/${key.label}`;
    const known = this.#heads.get(name);
    if (known !== undefined) return known;
    if (this.#heads.size >= headsMax) this.#heads.clear();
    const head = signHead(key, algorithm);
    this.#heads.set(name, head);
    return head;
  }
}

const headsMax = 4096;
