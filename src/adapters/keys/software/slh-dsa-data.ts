/** What a worker that signs with SLH-DSA is started with. */

import type { SlhDsaSet } from "#core/slh-dsa.ts";

/** What one worker does before it ends; without a secret it makes one. */
export interface SlhDsaJob {
  readonly slhDsa: SlhDsaSet;
  readonly secret?: Uint8Array;
  readonly message?: Uint8Array;
}

/** True for the start values of a worker of this kind. */
export const isSlhDsaJob = (start: unknown): start is SlhDsaJob =>
  typeof start === "object" && start !== null && "slhDsa" in start;
