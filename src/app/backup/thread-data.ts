/** What a thread that writes an archive is started with, and what it and its server say. */

import type { Manifest, Protection, Vouched } from "#core/backup/archive.ts";
import type { DataKeysAsked, DataKeysGiven } from "#domain/backup/archiving.ts";
import type { ArchiveOrder } from "./write.ts";

/**
 * Tells it from other threads of the binary. The thread encrypts, and has another one of its own
 * write what it encrypts, which it starts without `protection`: each of the two keeps a processor
 * busy.
 */
export interface ArchiveJob {
  readonly archive: ArchiveOrder;
  /** Undefined for the archive in clear. */
  readonly protection: Protection | undefined;
  /** The main module. */
  readonly workerUrl: string;
}

/** What the thread says. */
export type FromArchive =
  | { readonly piece: Uint8Array }
  | { readonly begun: Manifest }
  | { readonly ask: "dataKeys"; readonly asked: DataKeysAsked }
  | { readonly ask: "sign"; readonly octets: Uint8Array }
  /** `unfit` where the archive is at fault. */
  | { readonly fault: string; readonly unfit: boolean }
  | { readonly ended: true };

/** What it is told: that a piece was taken, the answer to what it asked, or to leave off. */
export type ToArchive =
  | { readonly taken: true }
  | { readonly answer: DataKeysGiven | Vouched }
  | { readonly failure: string }
  | { readonly stop: true };

/** True for the data a thread of this kind is started with. */
export const isArchiveJob = (job: unknown): job is ArchiveJob =>
  typeof job === "object" && job !== null && "archive" in job;
