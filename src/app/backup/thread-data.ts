/** What a thread that writes an archive is started with, and what it and its server say. */

import type { Manifest, Protection, Vouched } from "#core/backup/archive.ts";
import type { ArchiveOrder } from "./write.ts";

/** Tells it from other threads of the binary. */
export interface ArchiveJob {
  readonly archive: ArchiveOrder;
  readonly protection: Protection;
}

/** What the thread says. */
export type FromArchive =
  | { readonly piece: Uint8Array }
  | { readonly begun: Manifest }
  | { readonly ask: "dataKeys" }
  | { readonly ask: "sign"; readonly octets: Uint8Array }
  | { readonly fault: string }
  | { readonly ended: true };

/** What it is told: that a piece was taken, the answer to what it asked, or to leave off. */
export type ToArchive =
  | { readonly taken: true }
  | { readonly answer: Uint8Array | Vouched }
  | { readonly failure: string }
  | { readonly stop: true };

/** True for the data a thread of this kind is started with. */
export const isArchiveJob = (job: unknown): job is ArchiveJob =>
  typeof job === "object" && job !== null && "archive" in job;
