/** Watches the free space of the volume the data directory lies on (`database.min_free_mb`). */

import { statfsSync } from "node:fs";

/**
 * Calls the operating system at most once in 10 ms, so that every request may check. With a longer
 * interval, issuance uses up the reserve for revocations when a volume fills up.
 */
export class FreeSpace {
  readonly #path: string;
  readonly #bytesMin: number;
  #asked = Number.NEGATIVE_INFINITY;
  #enough = true;

  /** `megabytesMin` of 2²⁰ bytes; 0 switches the watch off. */
  constructor(path: string, megabytesMin: number) {
    this.#path = path;
    this.#bytesMin = megabytesMin * 1_048_576;
  }

  /** False while less is free than must stay free, and while nobody can tell. */
  get enough(): boolean {
    const now = performance.now();
    if (now - this.#asked < sharedMs) return this.#enough;
    this.#asked = now;
    this.#enough = this.#bytesMin === 0 || free(this.#path) >= this.#bytesMin;
    return this.#enough;
  }
}

function free(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return 0; // A volume that does not answer has no room.
  }
}

const sharedMs = 10;
