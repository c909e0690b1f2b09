/** Reads the blocklist files of weak keys (`keychecks.weak_key_blocklist_paths`). */

import { readFileSync, statSync } from "node:fs";

import type { BlocklistLook } from "#domain/preflight/blocklists.ts";
import { parseBlocklist } from "#core/policy/weak-keys.ts";

/** What kept a blocklist from being read; the message names file and line. */
export class BlocklistUnreadable extends Error {
  override readonly name = "BlocklistUnreadable";
}

/** `keychecks`. */
export interface WeakKeysSection {
  readonly weak_key_blocklist_paths: readonly string[];
}

/** The lists in force. */
export class WeakKeys {
  #digests: ReadonlySet<string>;

  /** Throws `BlocklistUnreadable`, as `prepare` does. */
  constructor(section: WeakKeysSection) {
    this.#digests = readBlocklists(section.weak_key_blocklist_paths);
  }

  /** Digests of weak keys, lower hex. */
  get digests(): ReadonlySet<string> {
    return this.#digests;
  }

  /** Reads the lists of another section; what it gives puts them into force. */
  prepare(next: WeakKeysSection): () => void {
    const listed = readBlocklists(next.weak_key_blocklist_paths);
    return () => {
      this.#digests = listed;
    };
  }
}

/**
 * The digests of all files, lower hex. Throws `BlocklistUnreadable` where one cannot be read to its
 * last line.
 */
export function readBlocklists(paths: readonly string[]): ReadonlySet<string> {
  const digests = new Set<string>();
  for (const path of paths) for (const digest of readBlocklist(path)) digests.add(digest);
  return digests;
}

/** How many digests the files hold and how old each is, or why one cannot be read. */
export function lookAtBlocklists(paths: readonly string[]): BlocklistLook {
  try {
    const digests = readBlocklists(paths).size;
    const now = Date.now();
    return { digests, files: paths.map((path) => ({ path, ageMs: now - statSync(path).mtimeMs })) };
  } catch (error) {
    if (error instanceof BlocklistUnreadable) return { fault: error.message };
    throw error;
  }
}

function readBlocklist(path: string): readonly string[] {
  const list = parseBlocklist(textOf(path));
  if ("digests" in list) return list.digests;
  throw new BlocklistUnreadable(
    `${path}: line ${list.wrongLine} is no digest (SHA-1, its last 20 digits, or SHA-256 in hex, or SHA256:<base64>).`,
  );
}

function textOf(path: string): string {
  try {
    if (statSync(path).size <= octetsMax) return readFileSync(path, "utf8");
  } catch (error) {
    throw new BlocklistUnreadable(`${path}: ${error instanceof Error ? error.message : error}`);
  }
  throw new BlocklistUnreadable(`${path}: larger than ${octetsMax} octets.`);
}

/** All of Debian's lists together have a quarter of this. */
const octetsMax = 128 * 1024 * 1024;
