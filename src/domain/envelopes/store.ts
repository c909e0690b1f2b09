/** How KEK versions and sealed values are remembered. */

import type { Instant } from "#core/time.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type { Place } from "./places.ts";

/** What a version of the KEK still does. */
export const kekStatuses = ["active", "retiring", "retired"] as const;

/**
 * One version of the KEK. New values are sealed under the active one; a retired one opens nothing
 * (KEK-4).
 */
export interface KekVersion {
  /** Counts up over all label families. */
  readonly version: number;
  readonly status: (typeof kekStatuses)[number];
  /** The label without its version. */
  readonly family: string;
  readonly key: KeyRef;
  /** As of `KeyHandle`; empty for versions made before it was remembered. */
  readonly deviceSerial: string;
  /** Lower hex SHA-256 of the SubjectPublicKeyInfo of an RSA key. */
  readonly spkiSha256: string | undefined;
  readonly createdAt: Instant;
}

/** An envelope at its place. */
export interface SealedValue {
  readonly place: Place;
  readonly kekVersion: number;
  /** As `encodeEnvelope` writes it. */
  readonly envelope: string;
}

export interface EnvelopeReads {
  /** Newest first; few for ever. */
  versions(): Promise<readonly KekVersion[]>;
  at(place: Place): Promise<SealedValue | undefined>;
  /** Values under a version in the order of their places, those after `after`. */
  under(version: number, limit: number, after?: Place): Promise<readonly SealedValue[]>;
  /** How many values are sealed. */
  count(): Promise<number>;
  /**
   * How many other processes at work on this store have not said that their signers know `version`.
   */
  unheard(version: number): Promise<number>;
}

export interface EnvelopeWrites {
  /**
   * Makes `next` the active version and `replaced` retiring; false when `replaced` is not the
   * active one (any more).
   */
  begin(next: KekVersion, replaced: number | undefined): Promise<boolean>;
  /** Stores or replaces a value; false when its version is retired, and then nothing is changed. */
  put(value: SealedValue): Promise<boolean>;
  /** Replaces exactly `from` by `to`; false when it has changed meanwhile. */
  rewrap(from: SealedValue, to: SealedValue): Promise<boolean>;
  remove(place: Place): Promise<void>;
  /** Says for this process that its signers know `version` and seal under nothing older. */
  heard(version: number): Promise<void>;
  /**
   * Makes a retiring version retired; false while a value is sealed under it, or another process at
   * work has not said that its signers know the active one.
   */
  retire(version: number): Promise<boolean>;
}
