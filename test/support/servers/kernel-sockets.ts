/** What the kernel knows of the sockets of this process. */

import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Rows of the kernel's table of sockets that belong to an open file of this process. */
const ownRows = (table: string, inodeAt: number): readonly (readonly string[])[] => {
  const inodes = new Set(
    readdirSync("/proc/self/fd").map((file) => /socket:\[(\d+)\]/.exec(linkOf(file))?.[1]),
  );
  return readFileSync(`/proc/self/net/${table}`, "utf8")
    .split("\n")
    .map((row) => row.trim().split(/\s+/))
    .filter((row) => inodes.has(row[inodeAt] ?? "-"));
};

function linkOf(file: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${file}`);
  } catch {
    return ""; // The descriptor that the directory was read by.
  }
}

/** The ports (hex, as the kernel writes them) and the Unix sockets this process listens on. */
export const listening = (): ReadonlySet<string> =>
  new Set([
    ...ownRows("tcp", 9).flatMap(([, local, , state]) =>
      state === listenState && local !== undefined ? [local] : [],
    ),
    ...ownRows("unix", 6).flatMap(([, , , flags, , , , path]) =>
      flags === "00010000" && path !== undefined ? [path] : [],
    ),
  ]);

/** Ports of the connections within this process. */
export const established = () =>
  ownRows("tcp", 9)
    .filter(([, , , state]) => state !== listenState)
    .map(([, local = "", remote = ""]) => ({ local: portIn(local), remote: portIn(remote) }));
const portIn = (place: string) => Number.parseInt(place.split(":")[1] ?? "", 16);

/**
 * Connections to a port that its server has not closed yet: rows of the kernel that belong to an
 * open file.
 */
export const accepted = (port: number): number =>
  readFileSync("/proc/self/net/tcp", "utf8")
    .split("\n")
    .map((row) => row.trim().split(/\s+/))
    .filter(([, local = "", , state, , , , , , inode]) => {
      const here = Number.parseInt(local.split(":")[1] ?? "", 16) === port;
      return here && state !== listenState && inode !== undefined && inode !== "0";
    }).length;
const listenState = "0A";

/** How many descriptors this process has open. */
export const openFiles = () => readdirSync("/proc/self/fd").length;
