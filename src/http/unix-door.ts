/**
 * Opens HTTP servers on Unix sockets: nobody reaches one whom the file system does not let through.
 */

import { chmodSync, lstatSync, unlinkSync } from "node:fs";
import { connect } from "node:net";

/** `sun_path` of Linux without its final zero. */
export const socketPathMax = 107;

/**
 * Runs `bind`, which binds a socket at `path` before it returns, and gives the file these
 * permission bits. The umask is narrowed meanwhile, so that nobody gets in before they are set;
 * what `bind` throws is thrown.
 */
export function boundPrivately<T>(path: string, mode: number, bind: () => T): T {
  const before = process.umask(0o177);
  try {
    const bound = bind();
    chmodSync(path, mode);
    return bound;
  } finally {
    process.umask(before);
  }
}

/**
 * Unlinks a socket that nobody answers on. Throws when the path is too long, when another server
 * answers there, and rather than touch anything that is not a socket; `name` says in the sentence
 * which socket it is.
 */
export async function removeStaleSocket(path: string, name: string): Promise<void> {
  if (Buffer.byteLength(path) > socketPathMax) {
    throw new Error(`the path of the ${name} is too long`);
  }
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new Error(`the ${name}'s path is taken by another file`);
  if (await isListening(path)) throw new Error(`another server answers on the ${name}`);
  unlinkSync(path);
}

/** Returns true if a server accepts connections on the Unix socket. */
export function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once("connect", () => {
      probe.destroy();
      resolve(true);
    });
    probe.once("error", () => resolve(false));
  });
}
