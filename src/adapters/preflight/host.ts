/**
 * Looks at the host for preflight: modes of files, room on volumes, durable writes, limits of the
 * process.
 */

import {
  accessSync,
  constants,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statfsSync,
} from "node:fs";
import { open, rm } from "node:fs/promises";
import { connect } from "node:net";
import { totalmem } from "node:os";
import { dirname, join } from "node:path";

import type { FileFacts } from "#core/preflight/files.ts";
import type { VolumeFacts } from "#core/preflight/host.ts";

/** The file as it is, not what a link leads to. */
export function fileFacts(path: string): FileFacts {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return { path, kind: "absent", mode: 0, owner: 0 };
  const kind = found.isFile()
    ? "file"
    : found.isDirectory()
      ? "directory"
      : found.isSocket()
        ? "socket"
        : "other";
  return { path, kind, mode: found.mode & 0o7777, owner: found.uid };
}

/** The directory and the files in it, at most 10,000; an absent directory has none. */
export function filesIn(directory: string): readonly FileFacts[] {
  const itself = fileFacts(directory);
  if (itself.kind !== "directory") return [itself];
  const names = readdirSync(directory).slice(0, filesMax);
  return [itself, ...names.map((name) => fileFacts(join(directory, name)))];
}

/** The volume a path lies on, which holds this of the instance. */
export function volumeFacts(path: string, holds: VolumeFacts["holds"]): VolumeFacts {
  const { bsize, blocks, bavail, files, ffree } = statfsSync(path);
  return {
    path,
    holds,
    bytesTotal: blocks * bsize,
    bytesFree: bavail * bsize,
    inodesTotal: files,
    inodesFree: ffree,
  };
}

/** True for a file system of another host whose locks do not reach that host. */
export function lacksLocks(path: string, mounts = "/proc/self/mounts"): boolean {
  const { type = "", options } = mountOf(path, mounts);
  return networkTypes.has(type) && options.some((option) => localLocks.has(option));
}

/**
 * Milliseconds of each of `count` small writes with fsync, to a file that is removed again; waits
 * in no thread of ours.
 */
export async function timedWrites(directory: string, count: number): Promise<readonly number[]> {
  const path = join(directory, `.preflight-${crypto.randomUUID()}`);
  const file = await open(path, "wx", 0o600);
  try {
    const took: number[] = [];
    for (let n = 0; n < count; n++) {
      const began = performance.now();
      await file.write(Buffer.alloc(writeBytes));
      await file.sync();
      took.push(performance.now() - began);
    }
    return took;
  } finally {
    await file.close();
    await rm(path);
  }
}

/**
 * Returns the hard limit of open files; undefined without limit, or if the system does not publish
 * it. The runtime raises the soft limit to it, and a running server lowers that again.
 */
export function openFilesMax(limits = "/proc/self/limits"): number | undefined {
  const hard = /^Max open files +\S+ +(\d+)/m.exec(textOf(limits))?.[1];
  return hard === undefined ? undefined : Number(hard);
}

/** How much memory a process may use, and who says so. */
export interface MemoryLimit {
  readonly bytesMax: number;
  readonly saidBy: string;
}

/**
 * The least of what the control groups of this process may use (cgroups(7), of either version) and
 * what the machine has. `root` is where `/proc` and `/sys` are.
 */
export function memoryMax(root = "/", machine = totalmem()): MemoryLimit {
  let least: MemoryLimit = { bytesMax: machine, saidBy: "what the machine has" };
  for (const { folder, path, file } of controlGroups(textOf(join(root, "proc/self/cgroup")))) {
    // A group is bound by every group above it.
    for (let group = path; ; group = dirname(group)) {
      const name = join("/", folder, group, file);
      const bytes = Number.parseInt(textOf(join(root, name)), 10);
      if (bytes > 0 && bytes < least.bytesMax) least = { bytesMax: bytes, saidBy: name };
      if (group === "/" || group === ".") break;
    }
  }
  return least;
}

/** Where the limits of memory are, by the lines of `/proc/self/cgroup`. */
function controlGroups(lines: string) {
  return lines.split("\n").flatMap((line) => {
    const [, controllers = "", path = ""] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === "") return [];
    if (controllers === "") return [{ folder: "sys/fs/cgroup", path, file: "memory.max" }];
    if (!controllers.split(",").includes("memory")) return [];
    return [{ folder: "sys/fs/cgroup/memory", path, file: "memory.limit_in_bytes" }];
  });
}

/** True when this process may write into the directory. */
export function writable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** True when somebody listens on the Unix socket. */
export function answersOn(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once("connect", () => {
      probe.destroy();
      resolve(true);
    });
    probe.once("error", () => resolve(false));
  });
}

/** False for a directory on a volume mounted `noexec`. */
export const executable = (directory: string, mounts = "/proc/self/mounts"): boolean =>
  !mountOf(directory, mounts).options.includes("noexec");

/**
 * The mount a path lies on: of those above it the deepest, and of several on one point the last.
 */
function mountOf(path: string, mounts: string) {
  const real = existing(path);
  const holding = textOf(mounts)
    .split("\n")
    .map((line) => line.split(" "))
    .filter(([, point = ""]) => real === point || real.startsWith(`${point.replace(/\/$/, "")}/`));
  const deepest = Math.max(...holding.map(([, point = ""]) => point.length));
  const [, , type, options = ""] = holding.findLast(([, point]) => point?.length === deepest) ?? [];
  return { type, options: options.split(",") };
}

function existing(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // What is made later lies where its path says.
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // Other systems have no such file; then nothing is known.
  }
}

const filesMax = 10_000;
const writeBytes = 4096;
const networkTypes: ReadonlySet<string> = new Set([
  "nfs",
  "nfs4",
  "cifs",
  "smb3",
  "smbfs",
  "ceph",
  "9p",
  "afs",
  "fuse.sshfs",
  "gfs2",
  "ocfs2",
]);
const localLocks: ReadonlySet<string> = new Set([
  "nolock",
  "local_lock=all",
  "local_lock=flock",
  "nobrl",
]);
