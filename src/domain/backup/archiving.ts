/** What writes archives, and what it asks of whoever holds the keys. */

import type { Manifest, Protection, Vouched } from "#core/backup/archive.ts";

/** What only the process that holds the keys can do; asked for while an archive is written. */
export interface ArchiveHost {
  /** Told once the moment of the archive is fixed. */
  begun(manifest: Manifest): void;
  /** Octets of `keys/deks.json`: what opens every value that is sealed now. */
  dataKeys(): Promise<Uint8Array>;
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
