/** A volume of a few megabytes, to run full. */

import { existsSync, mkdirSync, rmSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

import { newHome } from "#test/support/instances/instance.ts";

/** Why there can be none here; undefined where there can. */
export const noVolume: string | undefined =
  process.platform !== "linux"
    ? "only Linux mounts a tmpfs"
    : process.getuid?.() !== 0
      ? "only root may mount a tmpfs"
      : undefined;

/** The data directory of a home, on a volume of its own. */
export class SmallVolume {
  readonly home = newHome();
  readonly folder = join(this.home, "data");

  /** Mounts so many megabytes; throws where that is refused. */
  constructor(megabytes: number) {
    mkdirSync(this.folder, { mode: 0o700 });
    const options = `size=${megabytes}m,mode=0700`;
    run("mount", "-t", "tmpfs", "-o", options, "tmpfs", this.folder);
  }

  /** Resolves when the instance has set room for revocations aside. */
  async reserved(): Promise<void> {
    const reserve = join(this.folder, "pkid.db-reserve");
    const whole = 4 * 1_048_576;
    while (!existsSync(reserve) || statSync(reserve).size < whole) await Bun.sleep(50);
  }

  /** Bytes left for revocations, which issuance must not use up: free ones and the reserve. */
  get revocationBytes(): number {
    const { bavail, bsize } = statfsSync(this.folder);
    const reserve = statSync(join(this.folder, "pkid.db-reserve"), { throwIfNoEntry: false });
    return bavail * bsize + (reserve?.size ?? 0);
  }

  /** Fills the volume except for `left` bytes. */
  fill(left = 0): void {
    fillVolume(join(this.folder, "filler"), left);
  }

  /** Gives it back. */
  free(): void {
    rmSync(join(this.folder, "filler"));
  }

  close(): void {
    run("umount", "-l", this.folder);
    rmSync(this.home, { recursive: true });
  }
}

/**
 * Fills a volume, except for `left` bytes, with one file and in one step. A server may free its
 * reserve at any time, and the file must not take that too.
 */
export function fillVolume(file: string, left = 0): void {
  for (;;) {
    const { bavail, bsize } = statfsSync(dirname(file));
    const bytes = bavail * bsize - left;
    if (bytes <= 0) return;
    // It fails and takes nothing if the server wrote since `statfs`.
    if (Bun.spawnSync(["fallocate", "-l", String(bytes), file]).success) return;
  }
}

function run(...line: readonly string[]): void {
  const { success, stderr } = Bun.spawnSync([...line]);
  if (!success) throw new Error(`${line.join(" ")}: ${stderr.toString()}`);
}
