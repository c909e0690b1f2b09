/** A volume of a few megabytes, to run full. */

import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";

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

  /** Takes all that is left but so many octets. */
  fill(left = 0): void {
    const file = openSync(join(this.folder, "filler"), "a");
    for (let size = 1_048_576; size >= 4096; size /= 2) while (taken(file, size));
    closeSync(file);
    if (left > 0) run("truncate", "-s", `-${left}`, join(this.folder, "filler"));
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

function taken(file: number, size: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(size)) === size;
  } catch {
    return false; // ENOSPC is what is wanted.
  }
}

function run(...line: readonly string[]): void {
  const { success, stderr } = Bun.spawnSync([...line]);
  if (!success) throw new Error(`${line.join(" ")}: ${stderr.toString()}`);
}
