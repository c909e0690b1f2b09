/** Which labels the files of a directory have, without reading again what has not changed. */

import { lstatSync } from "node:fs";

/** What a file said when it was looked at last, and what tells that it is still the same. */
interface Known {
  readonly label: string;
  readonly inode: number;
  readonly changedMs: number;
  /** False for what was read so soon after a change that another one may have left it as it is. */
  readonly settled: boolean;
}

/** The labels of files that other processes may add, replace and remove too. */
export class Labels {
  readonly #labelIn: (path: string) => string | undefined;
  #known = new Map<string, Known>();

  /** `labelIn` reads a file; it gives undefined for one that is damaged or gone. */
  constructor(labelIn: (path: string) => string | undefined) {
    this.#labelIn = labelIn;
  }

  /** True when one of these files, and they are all there are, has the label. */
  have(label: string, paths: readonly string[]): boolean {
    const known = new Map<string, Known>();
    for (const path of paths) {
      const one = this.#look(path);
      if (one !== undefined) known.set(path, one);
    }
    this.#known = known;
    return known.values().some((one) => one.label === label);
  }

  #look(path: string): Known | undefined {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return undefined;
    const before = this.#known.get(path);
    const { ino: inode, ctimeMs: changedMs } = stat;
    const isSame = before?.inode === inode && before.changedMs === changedMs;
    if (isSame && before.settled) return before;
    const settled = Date.now() - changedMs > settledAfterMs;
    const label = this.#labelIn(path);
    return label === undefined ? undefined : { label, inode, changedMs, settled };
  }
}

/** Longer than a step of the clock by which files have their times: inodes are used again. */
const settledAfterMs = 50;
