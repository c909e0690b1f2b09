/** Seals secrets for the database and opens them again. */

import {
  type Envelope,
  type EnvelopeHeader,
  encodeEnvelope,
  fitsCommitment,
  isHybrid,
  openEnvelope,
  parseEnvelope,
  sealEnvelope,
  withHeader,
} from "#core/envelope.ts";
import { refuse } from "#core/problems.ts";
import type { Keys } from "#domain/keys.ts";
import type { Random } from "#domain/ports.ts";
import type { Unit } from "#domain/store.ts";
import { unwrapHybrid, wrapHybrid } from "./hybrid.ts";
import type { Keks } from "./keks.ts";
import type { Place } from "./places.ts";
import type { KekVersion, SealedValue } from "./store.ts";

export interface EnvelopeDeps {
  readonly keks: Keks;
  readonly keys: Keys;
  readonly random: Random;
  /** Told every operation; metrics are its only use. */
  readonly onOperation: (operation: "encrypt" | "decrypt", succeeded: boolean) => void;
}

/**
 * The service. Whatever keeps a value from opening, a missing key or altered octets, is the one
 * refusal `key_unavailable`, so that nobody learns which (KEY-8).
 */
export class Envelopes {
  readonly #deps: EnvelopeDeps;

  constructor(deps: EnvelopeDeps) {
    this.#deps = deps;
  }

  /** Seals `content` for its place, under the active version; to be stored with `keepSealed`. */
  seal(place: Place, content: Uint8Array): Promise<SealedValue> {
    return this.#counted("encrypt", async () => {
      const version = await this.#deps.keks.active();
      const dek = this.#deps.random.bytes(32);
      const nonce = this.#deps.random.bytes(12);
      const header = await this.#header(version, dek);
      const envelope = sealEnvelope(header, { dek, nonce }, place, content);
      dek.fill(0);
      return sealedValue(place, envelope);
    });
  }

  /** The content of a value at its place. */
  open({ place, envelope: text }: Pick<SealedValue, "place" | "envelope">): Promise<Uint8Array> {
    return this.#counted("decrypt", async () => {
      const envelope = parseEnvelope(text) ?? unavailable();
      const dek = await this.#unwrapped(envelope);
      const content = openEnvelope(envelope, dek, place);
      dek.fill(0);
      return content ?? unavailable();
    });
  }

  /**
   * The data key of a value, for a backup that must open without the KEK (BAK-1); the caller wipes
   * it.
   */
  dataKey({ envelope: text }: Pick<SealedValue, "envelope">): Promise<Uint8Array> {
    return this.#counted("decrypt", () => this.#unwrapped(parseEnvelope(text) ?? unavailable()));
  }

  /** The same value under `to`: another header, the same ciphertext (KEK-4). */
  async rewrapped(value: SealedValue, to: KekVersion): Promise<SealedValue> {
    const envelope = parseEnvelope(value.envelope) ?? unavailable();
    const dek = await this.#counted("decrypt", () => this.#unwrapped(envelope));
    const header = await this.#counted("encrypt", () => this.#header(to, dek));
    dek.fill(0);
    return sealedValue(value.place, withHeader(envelope, header));
  }

  /**
   * The same value under `to` by its data key, whatever KEK it was under; undefined when that is
   * not its data key.
   */
  async under(
    to: KekVersion,
    { place, envelope: text }: SealedValue,
    dek: Uint8Array,
  ): Promise<SealedValue | undefined> {
    const envelope = parseEnvelope(text);
    if (envelope === undefined || !fitsCommitment(envelope, dek)) return undefined;
    const header = await this.#counted("encrypt", () => this.#header(to, dek));
    return sealedValue(place, withHeader(envelope, header));
  }

  async #header(to: KekVersion, dek: Uint8Array): Promise<EnvelopeHeader> {
    const { keks, keys, random } = this.#deps;
    if (await keks.wrapsHybrid(to)) return await wrapHybrid(keys, to, { dek, random });
    const { key, family, version } = to;
    return { ...(await keys.keks.wrap(key, dek)), kek: family, kekVersion: version };
  }

  async #unwrapped(envelope: Envelope): Promise<Uint8Array> {
    const versions = await this.#deps.keks.versions();
    const version = versions.find((one) => one.version === envelope.kekVersion);
    if (version === undefined || version.status === "retired") return unavailable();
    if (version.family !== envelope.kek) return unavailable();
    const { keys } = this.#deps;
    const dek = isHybrid(envelope)
      ? await unwrapHybrid(keys, version, envelope)
      : await keys.keks.unwrap(version.key, envelope);
    return fitsCommitment(envelope, dek) ? dek : unavailable();
  }

  async #counted<T>(operation: "encrypt" | "decrypt", work: () => Promise<T>): Promise<T> {
    let succeeded = false;
    try {
      const result = await work();
      succeeded = true;
      return result;
    } finally {
      this.#deps.onOperation(operation, succeeded);
    }
  }
}

/**
 * Stores a sealed value in a unit; refuses `key_unavailable` when its version has been retired
 * since.
 */
export async function keepSealed(tx: Unit, value: SealedValue): Promise<void> {
  if (!(await tx.envelopes.put(value))) unavailable();
}

const sealedValue = (place: Place, envelope: Envelope): SealedValue => ({
  place,
  kekVersion: envelope.kekVersion,
  envelope: encodeEnvelope(envelope),
});

function unavailable(): never {
  throw refuse("key_unavailable", { retry_after: 2 });
}
