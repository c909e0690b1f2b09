/** Reads the blocklist files of weak keys (`keychecks.weak_key_blocklist_paths`). */

import { readFileSync, statSync } from "node:fs";

import { parseBlocklist } from "#core/policy/weak-keys.ts";

/** What kept a blocklist from being read; the message names file and line. */
export class BlocklistUnreadable extends Error {
  override readonly name = "BlocklistUnreadable";
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
