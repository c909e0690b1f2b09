/**
 * A clock of its own for one process (Debian's libfaketime), which a test can set while the process
 * runs.
 */

import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The library, where it is installed. */
const library = ["x86_64", "aarch64"]
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path));

/** True when a process can be given a clock of its own. */
export const canFakeTime = library !== undefined;

export interface FalseTime {
  /** Environment of the process that is deceived; its monotonic clock is not. */
  readonly env: Readonly<Record<string, string>>;
  /** Sets the clock to the true time and this many seconds. */
  set(seconds: number): void;
  remove(): void;
}

/** A clock that tells the true time until it is set. */
export function falseTime(): FalseTime {
  const folder = mkdtempSync(join(tmpdir(), "pkid-time-"));
  const file = join(folder, "offset");
  const set = (seconds: number) => {
    // Replaced as a whole: the library reads it at every look at the clock.
    writeFileSync(`${file}.new`, `${seconds < 0 ? "" : "+"}${seconds}\n`);
    renameSync(`${file}.new`, file);
  };
  set(0);
  return {
    env: {
      LD_PRELOAD: library ?? "",
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      FAKETIME_DONT_RESET: "1",
    },
    set,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
