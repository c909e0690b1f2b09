/** Puts a faulty PKCS#11 module in front of a good one. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The module, and a way to make its next signatures fail. */
export interface FaultyModule {
  readonly path: string;
  /**
   * The next `times` signatures take `delayMs` longer and then give `rv`, or succeed when that is
   * 0.
   */
  fail(rv: number, times: number, delayMs?: number): void;
  /** How many of the signatures last told to fail were not asked for yet. */
  left(): number;
  /** Whether the device is away for whoever opens the module from now on. */
  away(is: boolean): void;
  /** How often a PIN was presented to the token. */
  logins(): number;
}

/** Compiles it in front of the module at `real`. */
export function newFaultyModule(real: string): FaultyModule {
  const directory = mkdtempSync(join(tmpdir(), "pkid-faulty-"));
  const path = join(directory, "faulty.so");
  const control = join(directory, "control");
  const source = join(import.meta.dir, "faulty-module.c");
  const built = Bun.spawnSync([
    "gcc",
    "-shared",
    "-fPIC",
    "-O1",
    `-DCONTROL="${control}"`,
    `-DREAL="${real}"`,
    source,
    "-o",
    path,
    "-ldl",
    "-lpthread",
  ]);
  if (built.exitCode !== 0) throw new Error(built.stderr.toString());
  const fail = (rv: number, times: number, delayMs = 0) =>
    writeFileSync(control, `${rv.toString(16)} ${times} ${delayMs}`);
  const marks = `${control}.logins`;
  const logins = () => (existsSync(marks) ? readFileSync(marks, "utf8").length : 0);
  const left = () => Number(readFileSync(control, "utf8").split(" ")[1]);
  const gone = `${control}.away`;
  const away = (is: boolean) => (is ? writeFileSync(gone, "") : rmSync(gone, { force: true }));
  return { path, fail, left, away, logins };
}
