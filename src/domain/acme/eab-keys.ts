/** The keys of external account bindings: sealed in the database, or named by the configuration. */

import { base64urlText } from "#core/acme/base64url.ts";
import { Problem } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { Envelopes } from "#domain/envelopes/envelopes.ts";
import { placeOf } from "#domain/envelopes/places.ts";
import type { SealedValue } from "#domain/envelopes/store.ts";
import type { Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";

/** The keys that the configuration names by their kid. */
export interface ConfiguredKeys {
  kids(): readonly string[];
  /** When they were loaded. */
  readonly since: Instant;
  /**
   * The octets of one of them, at most a minute old (SEC-3). Refuses `key_unavailable` when they
   * cannot be had.
   */
  key(kid: string): Promise<Uint8Array>;
}

export interface EabKeyDeps {
  readonly store: Pick<Store, "read">;
  readonly random: Pick<Random, "bytes">;
  readonly envelopes: Pick<Envelopes, "seal" | "open">;
  readonly configured: ConfiguredKeys;
}

/** Makes keys and finds them again. */
export class EabKeys {
  readonly #deps: EabKeyDeps;
  #decoy: Promise<SealedValue> | undefined;

  constructor(deps: EabKeyDeps) {
    this.#deps = deps;
  }

  /** A new key of 32 octets, and the same sealed for its place; to be stored with `keepSealed`. */
  async make(id: string): Promise<{ readonly key: Uint8Array; readonly sealed: SealedValue }> {
    const { random, envelopes } = this.#deps;
    let key = random.bytes(keyOctets);
    // Clients take it as an argument, and some would take a hyphen in front for a flag.
    while (keyText(key).startsWith("-")) key = random.bytes(keyOctets);
    return { key, sealed: await envelopes.seal(placeOf("eab", id), key) };
  }

  /**
   * The key of a kid. One that nobody knows has a key that nobody knows, which is as much work to
   * find as any: an envelope is opened for every kid (P-9). Refuses `key_unavailable`.
   */
  async of(kid: string): Promise<Uint8Array> {
    const { store, configured } = this.#deps;
    const sealed = await store.read.envelopes.at(placeOf("eab", kid));
    const opened = sealed === undefined ? await this.#unknown() : await this.#open(sealed);
    return this.isConfigured(kid) ? await configured.key(kid) : opened;
  }

  /** True for a kid of the configuration; those of the form the database gives never are (V-21). */
  isConfigured(kid: string): boolean {
    return !storedForm.test(kid) && this.#deps.configured.kids().includes(kid);
  }

  async #unknown(): Promise<Uint8Array> {
    try {
      return await this.#open(await this.#sealedDecoy());
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // It was sealed under a version that has been retired since (KEK-4), unless nothing opens.
      this.#decoy = undefined;
      return await this.#open(await this.#sealedDecoy());
    }
  }

  #sealedDecoy(): Promise<SealedValue> {
    this.#decoy ??= this.make("decoy").then(({ sealed }) => sealed);
    return this.#decoy;
  }

  #open(sealed: SealedValue): Promise<Uint8Array> {
    return this.#deps.envelopes.open(sealed);
  }
}

/** A kid of the database from 16 random octets. */
export const storedKid = (random: Uint8Array): string => `eab_${keyText(random)}`;

/** A key as answers tell it once, and as clients are given it: base64url without padding. */
export const keyText = (key: Uint8Array): string => base64urlText(key);

const storedForm = /^eab_[A-Za-z0-9_-]{22}$/;
const keyOctets = 32;
