/** Looks for octets in the memory of another process, as somebody could who got hold of it. */

import { closeSync, openSync, readFileSync, readSync } from "node:fs";

/** True when the text stands anywhere in what the process may write to and has touched. */
export const memoryContains = (pid: number, text: string): boolean =>
  searchMemory(pid, [Buffer.from(text)]).includes(true);

/**
 * Searches what the process may write to and has touched.
 * @returns true for each of `wanted` that was found, in their order
 */
export function searchMemory(pid: number, wanted: readonly Uint8Array[]): readonly boolean[] {
  const found = wanted.map(() => false);
  const longest = Math.max(...wanted.map(({ length }) => length));
  const memory = openSync(`/proc/${pid}/mem`, "r");
  const pages = openSync(`/proc/${pid}/pagemap`, "r");
  try {
    for (const region of regionsOf(pid)) {
      let before: Buffer = Buffer.alloc(0);
      for (const run of touched(pages, region)) {
        const chunk = Buffer.concat([before, bytesAt(memory, run)]);
        for (const [index, octets] of wanted.entries()) {
          if (!found[index] && chunk.includes(octets)) found[index] = true;
        }
        if (found.every(Boolean)) return found;
        before = chunk.subarray(Math.max(0, chunk.length - longest));
      }
    }
  } finally {
    closeSync(memory);
    closeSync(pages);
  }
  return found;
}

interface Region {
  readonly start: number;
  readonly end: number;
}

/** The writable regions that have pages in memory. */
function regionsOf(pid: number): readonly Region[] {
  const blocks = readFileSync(`/proc/${pid}/smaps`, "utf8").split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  return blocks.flatMap((block) => {
    const range = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(block);
    if (range === null || /^Rss:\s+0 kB/m.test(block)) return [];
    return [
      { start: Number.parseInt(range[1] ?? "", 16), end: Number.parseInt(range[2] ?? "", 16) },
    ];
  });
}

/**
 * Runs of pages that are there, at most a megabyte each; most of what a runtime reserves is not.
 */
function* touched(pages: number, { start, end }: Region): Iterable<Region> {
  let run: { start: number; end: number } | undefined;
  for (let at = start; at < end; at += entriesRead * pageBytes) {
    const count = Math.min(entriesRead, (end - at) / pageBytes);
    const entries = Buffer.alloc(count * 8);
    readSync(pages, entries, 0, entries.length, (at / pageBytes) * 8);
    for (let index = 0; index < count; index++) {
      const page = at + index * pageBytes;
      // Bit 63: in memory; bit 62: swapped out, and brought back by reading it.
      const there = (entries[index * 8 + 7] ?? 0) >= 0x40;
      if (there && run !== undefined && run.end === page && page - run.start < runBytesMax) {
        run.end = page + pageBytes;
      } else if (there) {
        if (run !== undefined) yield run;
        run = { start: page, end: page + pageBytes };
      }
    }
  }
  if (run !== undefined) yield run;
}

function bytesAt(memory: number, { start, end }: Region): Buffer {
  const octets = Buffer.alloc(end - start);
  try {
    return octets.subarray(0, readSync(memory, octets, 0, octets.length, start));
  } catch {
    return Buffer.alloc(0); // Given back meanwhile: what is not there any more is held by nobody.
  }
}

const pageBytes = 4096;
const entriesRead = 65_536;
const runBytesMax = 1024 * 1024;
