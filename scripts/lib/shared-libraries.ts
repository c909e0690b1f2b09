/** Which shared libraries a binary needs to run, and which Debian packages they are from. */

import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

import { ran } from "./packaging.ts";

/**
 * Takes a binary and gives the paths under which it looks for its loader and its libraries, sorted.
 * Refuses a binary of which one is missing, and a C library that looks up names with modules of
 * its own.
 */
export function sharedLibraries(binary: string): readonly string[] {
  const listed = ran(["ldd", binary]);
  const linked = [...listed.matchAll(/^\t(?:\S+ => )?(\/\S+) \(0x/gm)].map(
    ([, path]) => path ?? "",
  );
  if (listed.includes("not found")) throw new Error(`${binary} lacks a library:\n${listed}`);
  const libc = linked.find((path) => path.endsWith("/libc.so.6"));
  if (libc === undefined) throw new Error(`${binary} is not linked with glibc:\n${listed}`);
  const [major = 0, minor = 0] = libcVersion().split(".").map(Number);
  if (major === 2 && minor < 34) {
    throw new Error(`glibc ${libcVersion()} looks up names with modules; build on 2.34 or newer`);
  }
  // glibc opens it by itself when a thread ends before its function does, and aborts without it.
  const unwinder = join(dirname(libc), "libgcc_s.so.1");
  if (!existsSync(unwinder)) throw new Error(`${unwinder} is missing`);
  return [...new Set(linked.concat(unwinder))].sort();
}

/** Gives the version of the C library of this machine, such as 2.36. */
export const libcVersion = (): string =>
  ran(["getconf", "GNU_LIBC_VERSION"]).trim().split(" ").at(-1) ?? "";

/**
 * Takes paths of libraries and gives the names of the packages they are from, sorted. Refuses a
 * path that is of none.
 */
export function packagesOf(paths: readonly string[]): readonly string[] {
  const owners = paths.map((path) => {
    // Where /lib is a link the package may know the file by the one path or by the other.
    const asked = Bun.spawnSync(["dpkg-query", "-S", path, realpathSync(path)], {
      stderr: "ignore",
    });
    const owner = /^([^:\s]+)(?::\S+)?: /.exec(asked.stdout.toString())?.[1];
    if (owner === undefined) throw new Error(`${path} is of no Debian package`);
    return owner;
  });
  return [...new Set(owners)].sort();
}
