/** What writes archives, and what it asks of whoever holds the keys. */

import type { Manifest, Protection, Vouched } from "#core/backup/archive.ts";
import type { SealedValue } from "#domain/envelopes/store.ts";
import type { BoxedDataKey } from "#domain/keys.ts";

/** What is sealed at the moment of an archive, and where data keys of private keys are to go. */
export interface DataKeysAsked {
  readonly values: readonly SealedValue[];
  /** An X25519 public key of whoever writes the archive. */
  readonly address: Uint8Array;
}

/** Data keys that open it without the KEK (BAK-1). */
export interface DataKeysGiven {
  /** Of 32 octets each, by the places of the values. */
  readonly values: ReadonlyMap<string, Uint8Array>;
  readonly privateKeys: readonly BoxedDataKey[];
}

/** What only the process that holds the keys can do; asked for while an archive is written. */
export interface ArchiveHost {
  /** Told once the moment of the archive is fixed. */
  begun(manifest: Manifest): void;
  dataKeys(asked: DataKeysAsked): Promise<DataKeysGiven>;
  /** By the ledger key. */
  sign(octets: Uint8Array): Promise<Vouched>;
}

/** How one archive is to be. */
export interface ArchiveWish {
  readonly protection: Protection;
  /** Whether the effective configuration goes along, without secrets. */
  readonly withConfiguration: boolean;
  /** RFC 3339, UTC. */
  readonly createdAt: string;
}

/** The encrypted archive, piece by piece; throws what keeps it from being complete. */
export type Archiving = (wish: ArchiveWish, host: ArchiveHost) => AsyncGenerator<Uint8Array>;
