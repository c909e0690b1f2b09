/**
 * Publishes into a directory: complete snapshots, and a link `current` that is moved to the newest
 * (PUB-3).
 */

import { createHash } from "node:crypto";
import {
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
} from "node:fs/promises";
import { dirname, join } from "node:path";

import {
  type Artefact,
  BadManifest,
  encodeManifest,
  type Manifest,
  parseManifest,
} from "#core/publishing/manifest.ts";
import {
  type Octets,
  type PublishTarget,
  type Snapshot,
  TargetFault,
} from "#domain/publishing/target.ts";

export interface DirectoryOptions {
  /** Absolute path; made when it is not there. */
  readonly path: string;
  /** Newest snapshots that stay, the published one among them; at least 1. */
  readonly keep_snapshots: number;
}

/** Opens the target; nothing is made before a snapshot begins. */
export function directoryTarget(options: DirectoryOptions): PublishTarget {
  const current = join(options.path, "current");
  return {
    name: "dir",
    concurrency: 16,
    previous: async () => {
      const text = await readFile(join(current, manifestName), "utf8").catch(nothing);
      return text === undefined ? undefined : manifestIn(text);
    },
    has: async ({ path, sha256 }) => (await digestOfFile(join(current, path))) === sha256,
    begin: (name) => told(() => DirectorySnapshot.begin(options, name)),
  };
}

function manifestIn(text: string): Manifest | undefined {
  try {
    return parseManifest(text);
  } catch (error) {
    // Somebody wrote over it: nothing of it is taken over, and the next snapshot stands in its
    // place.
    if (error instanceof BadManifest) return undefined;
    throw error;
  }
}

class DirectorySnapshot implements Snapshot {
  readonly #options: DirectoryOptions;
  readonly #name: string;
  /** What is being made; its name begins with a dot until it is complete. */
  readonly #building: string;
  readonly #folders = new Set<string>();
  readonly #written: Artefact[] = [];

  static async begin(options: DirectoryOptions, name: string): Promise<DirectorySnapshot> {
    const snapshots = join(options.path, "snapshots");
    await mkdir(snapshots, { recursive: true, mode: folderMode });
    await refuseForeign(join(options.path, "current"));
    await sweep(options.path);
    const snapshot = new DirectorySnapshot(options, name);
    await mkdir(snapshot.#building, { mode: folderMode });
    snapshot.#folders.add(snapshot.#building);
    return snapshot;
  }

  private constructor(options: DirectoryOptions, name: string) {
    this.#options = options;
    this.#name = name;
    this.#building = join(options.path, "snapshots", `.${name}`);
  }

  async write(artefact: Artefact, octets: Octets): Promise<void> {
    await told(async () => {
      const file = await this.#place(artefact.path);
      await writeWhole(file, octets);
      this.#written.push(artefact);
    });
  }

  async keep(artefact: Artefact, look: "whole" | "size"): Promise<boolean> {
    return await told(async () => {
      const before = join(this.#options.path, "current", artefact.path);
      const found = await stat(before).catch(nothing);
      if (found?.isFile() !== true || found.size !== artefact.size) return false;
      // A link would hand what somebody damaged on to every snapshot after it.
      if (look === "whole" && (await digestOfFile(before)) !== artefact.sha256) return false;
      try {
        await link(before, await this.#place(artefact.path));
        return true;
      } catch (error) {
        // Gone meanwhile, or on a file system without links: it is written instead.
        if (codeOf(error) === "ENOENT" || codeOf(error) === "EXDEV") return false;
        if (codeOf(error) === "EPERM" || codeOf(error) === "EMLINK") return false;
        throw error;
      }
    });
  }

  async publish(manifest: Manifest): Promise<void> {
    await told(async () => {
      const { path, keep_snapshots } = this.#options;
      const snapshots = join(path, "snapshots");
      for (const artefact of this.#written) await this.#readBack(artefact);
      const text = encodeManifest(manifest);
      const manifestFile = join(this.#building, manifestName);
      await writeWhole(manifestFile, [Buffer.from(text)]);
      if ((await readFile(manifestFile, "utf8")) !== text) throw unlike(manifestName);
      for (const folder of [...this.#folders].reverse()) await synced(folder);
      await rename(this.#building, join(snapshots, this.#name));
      await synced(snapshots);
      const waiting = join(path, `.current-${this.#name}`);
      await symlink(join("snapshots", this.#name), waiting);
      await rename(waiting, join(path, "current"));
      await synced(path);
      await prune(path, keep_snapshots);
    });
  }

  async abandon(): Promise<void> {
    // What cannot be removed now is swept when the next snapshot begins.
    await rm(this.#building, { recursive: true, force: true }).catch(nothing);
  }

  /** The file of an artefact, its folder made. */
  async #place(path: string): Promise<string> {
    const file = join(this.#building, path);
    const missing: string[] = [];
    for (let at = dirname(file); !this.#folders.has(at); at = dirname(at)) missing.push(at);
    await mkdir(dirname(file), { recursive: true, mode: folderMode });
    for (const folder of missing.reverse()) this.#folders.add(folder);
    return file;
  }

  async #readBack({ path, sha256, size }: Artefact): Promise<void> {
    const hash = createHash("sha256");
    let octets = 0;
    for await (const piece of Bun.file(join(this.#building, path)).stream()) {
      hash.update(piece);
      octets += piece.byteLength;
    }
    if (octets !== size || hash.digest("hex") !== sha256) throw unlike(path);
  }
}

/** Lower hex SHA-256 of a file, read in pieces; undefined when it cannot be read. */
async function digestOfFile(path: string): Promise<string | undefined> {
  const hash = createHash("sha256");
  try {
    for await (const piece of Bun.file(path).stream()) hash.update(piece);
  } catch {
    return undefined; // Gone, or not for this user: either way not what was published.
  }
  return hash.digest("hex");
}

async function writeWhole(path: string, octets: Octets): Promise<void> {
  const file = await open(path, "wx", fileMode);
  try {
    for await (const piece of octets) await file.writeFile(piece);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function synced(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Whatever else bears the name was put there by somebody, and is not ours to replace. */
async function refuseForeign(current: string): Promise<void> {
  const found = await lstat(current).catch(nothing);
  if (found !== undefined && !found.isSymbolicLink()) {
    throw new TargetFault("`current` in the publish directory is not a link of pkid's.");
  }
}

/** Removes what a crash left half made: snapshots, and links that were never moved into place. */
async function sweep(path: string): Promise<void> {
  const snapshots = join(path, "snapshots");
  const halves = (await readdir(snapshots)).filter((name) => name.startsWith("."));
  const links = (await readdir(path)).filter((name) => name.startsWith(".current-"));
  for (const left of [
    ...halves.map((name) => join(snapshots, name)),
    ...links.map((name) => join(path, name)),
  ]) {
    await rm(left, { recursive: true, force: true });
  }
}

async function prune(path: string, keep: number): Promise<void> {
  const published = await readlink(join(path, "current"));
  const names = (await readdir(join(path, "snapshots"))).filter((name) => !name.startsWith("."));
  const old = names.sort().slice(0, Math.max(0, names.length - keep));
  for (const name of old) {
    if (published === join("snapshots", name)) continue;
    await rm(join(path, "snapshots", name), { recursive: true, force: true });
  }
}

/** The same work, its file-system errors told in a sentence. */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (error instanceof TargetFault || code === undefined) throw error;
    throw new TargetFault(`The publish directory ${sentences[code] ?? `failed with ${code}`}.`);
  }
}

const sentences: Readonly<Record<string, string>> = {
  ENOSPC: "has no space left",
  EDQUOT: "has no space left for this user",
  EACCES: "cannot be written by this user",
  EPERM: "cannot be written by this user",
  EROFS: "is on a read-only file system",
  ENOTDIR: "is not a directory",
};

const unlike = (path: string) =>
  new TargetFault(`${path} in the publish directory does not read back as it was written.`);

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;

const nothing = () => undefined;
const manifestName = "manifest.json";
const folderMode = 0o755;
const fileMode = 0o644;
