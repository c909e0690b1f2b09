/**
 * Room on the disk that is set aside for revocations: a file beside the database, given up when
 * nothing else is free.
 */

import { existsSync, realpathSync, rmSync, statfsSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";

/** Of so many octets that a few thousand revocations and their lists fit in. */
export class Reserve {
  readonly #file: string;
  readonly #bytesMin: number;
  readonly #bytes: number;
  #making = false;
  #askedAt = Number.NEGATIVE_INFINITY;

  /**
   * `bytesMin` is what should stay free on the volume; of a small limit a quarter is set aside, of
   * none nothing.
   */
  constructor(database: string, bytesMin: number) {
    // Behind a link the volume is another one.
    this.#file = `${existsSync(database) ? realpathSync(database) : database}-reserve`;
    this.#bytesMin = bytesMin;
    this.#bytes = Math.min(bytesUsual, Math.floor(bytesMin / 4));
  }

  /** True while so little is free that what can be lost must not be written. */
  get scarce(): boolean {
    return this.#bytes > 0 && free(this.#file) < this.#bytesMin / 2;
  }

  /**
   * Before something is written that must be: gives the reserve up when there may be no other room
   * for it. Asks the operating system once in a moment; if the disk fills up within one, the write
   * that finds it full gives the reserve up.
   */
  beforeWriting(): void {
    const now = performance.now();
    if (this.#bytes === 0 || now - this.#askedAt < momentMs) return;
    this.#askedAt = now;
    if (free(this.#file) < this.#bytes / 4) this.giveUp();
  }

  /**
   * Frees the room at once. Never throws: where nothing can be removed either, the write that
   * follows says what is wrong.
   */
  giveUp(): void {
    try {
      rmSync(this.#file, { force: true });
    } catch {
      // A file system that is full or was made read-only; whoever asks has a batch to refuse, and
      // must come to that.
    }
  }

  /** Sets the room aside, also again, once there is plenty; asked now and then. Never throws. */
  async keep(): Promise<void> {
    if (this.#bytes === 0 || this.#making || this.#kept) return;
    if (free(this.#file) < this.#bytesMin + this.#bytes) return;
    this.#making = true;
    try {
      await fill(this.#file, this.#bytes);
    } catch {
      // The disk filled up meanwhile, or refuses: what is free now is worth more than a part of the
      // reserve.
      this.giveUp();
    } finally {
      this.#making = false;
    }
  }

  /** A part of it is left by a process that was killed while it made it. */
  get #kept(): boolean {
    return statSync(this.#file, { throwIfNoEntry: false })?.size === this.#bytes;
  }
}

/** Chance and not zeros: a file system that compresses would set nothing aside for those. */
async function fill(path: string, bytes: number): Promise<void> {
  const file = await open(path, "w", 0o600);
  try {
    for (let at = 0; at < bytes; at += pieceBytes) {
      const piece = new Uint8Array(Math.min(pieceBytes, bytes - at));
      for (let n = 0; n < piece.length; n += chanceMax) {
        crypto.getRandomValues(piece.subarray(n, n + chanceMax));
      }
      await file.write(piece, 0, piece.length, at);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

function free(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize;
  } catch {
    return 0; // A volume that does not answer has no room.
  }
}

const bytesUsual = 33_554_432;
const momentMs = 10;
const pieceBytes = 1_048_576;
/** As much as the runtime gives at once. */
const chanceMax = 65_536;
