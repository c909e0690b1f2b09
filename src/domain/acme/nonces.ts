/** Nonces: made without a record, taken once (AC-4; RFC 8555 §6.5). */

import { mintNonce, type Nonce, readNonce } from "#core/acme/nonces.ts";
import { refuse } from "#core/problems.ts";
import { Recent } from "#core/recent.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store, Unit } from "#domain/store.ts";

/**
 * Takes the nonce of a request in the unit that does what it asks for, so that both are one commit;
 * refuses `acme_bad_nonce` for one that was taken before.
 */
export type Spend = (tx: Unit) => Promise<void>;

export interface NonceDeps {
  readonly store: Pick<Store, "atomically">;
  readonly clock: Clock;
  readonly random: Pick<Random, "bytes">;
  /** Shared by all replicas; at least 16 octets. */
  readonly key: Uint8Array;
}

/** The nonces of an instance, whichever replica made them. */
export class Nonces {
  readonly #deps: NonceDeps;
  /** Nonces that this process has read: a message that fails must not repeat its nonce (AC-8). */
  readonly #read = new Recent<string, true>(noncesCached);

  constructor(deps: NonceDeps) {
    this.#deps = deps;
  }

  /** A nonce that is good for half an hour, once. */
  fresh(): string {
    const { key, clock, random } = this.#deps;
    return mintNonce(key, clock.now(), random.bytes(16));
  }

  /**
   * What the used set keeps of a nonce. Refuses `acme_bad_nonce` for none, for one that nobody of
   * this instance made, and for one that is too old.
   */
  readable(text: string | undefined): Nonce {
    const { key, clock } = this.#deps;
    const nonce = text === undefined ? undefined : readNonce(key, text, clock.now());
    if (nonce === undefined) throw refuse("acme_bad_nonce");
    return nonce;
  }

  /**
   * Marks the nonce of a message as read, before anything else is done with the message. Nothing is
   * written: `use` and `spender` do that after the signature is verified.
   *
   * @throws {Problem} `acme_bad_nonce` as `readable`, and if this process has read the nonce before
   */
  reserve(text: string | undefined): void {
    const { id } = this.readable(text);
    if (this.#read.get(id) !== undefined) throw refuse("acme_bad_nonce");
    this.#read.set(id, true);
  }

  /** What takes it in a unit of somebody else's. Refuses as `readable` does. */
  spender(text: string | undefined): Spend {
    const { id, expiresAt } = this.readable(text);
    return async (tx) => {
      if (!(await tx.acme.useNonce(id, expiresAt))) throw refuse("acme_bad_nonce");
    };
  }

  /** Takes it, durably. Refuses `acme_bad_nonce` for one that was taken before. */
  async use(text: string | undefined): Promise<void> {
    await this.#deps.store.atomically(this.spender(text));
  }
}

/** Takes about 10 MB. A fresh nonce costs an attacker less than replacing an entry. */
const noncesCached = 50_000;
