/** Frames of SQLite's write-ahead log: how many pages each commit has written. */

/** What stands in a log since it was last begun anew. */
export interface LogFrames {
  /** Which beginning it is; another one after every restart of the log. */
  readonly beginning: string;
  /** Pages written by each commit. */
  readonly commits: readonly number[];
}

/**
 * Counts the frames of a `-wal` file (SQLite file format §4.1). Frames of an earlier beginning,
 * which remain behind the current ones, end the count. Undefined for what is no such file.
 */
export function logFrames(log: Uint8Array): LogFrames | undefined {
  const view = new DataView(log.buffer, log.byteOffset, log.byteLength);
  if (log.length < headOctets || view.getUint32(0) >>> 1 !== 0x377f0682 >>> 1) return undefined;
  const pageOctets = view.getUint32(8);
  const salts = [view.getUint32(16), view.getUint32(20)] as const;
  let frames = 0;
  const commits: number[] = [];
  for (let at = headOctets; at + frameHeadOctets + pageOctets <= log.length; ) {
    if (view.getUint32(at + 8) !== salts[0] || view.getUint32(at + 12) !== salts[1]) break;
    frames += 1;
    // The last frame of a commit says how long the database is after it.
    if (view.getUint32(at + 4) > 0) {
      commits.push(frames);
      frames = 0;
    }
    at += frameHeadOctets + pageOctets;
  }
  return { beginning: salts.join("."), commits };
}

const headOctets = 32;
const frameHeadOctets = 24;
