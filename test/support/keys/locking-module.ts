/** Puts a PKCS#11 module whose token locks after wrong PINs in front of a good one. */

import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The module, and what the token's security officer does and sees. */
export interface LockingModule {
  readonly path: string;
  /**
   * How many wrong PINs the token takes yet, of how many; it shows so in its flags unless `silent`.
   */
  set(
    left: number,
    all: number,
    options?: { readonly silent?: boolean; readonly pin?: string },
  ): void;
  left(): number;
  /** The PINs the token was shown, in their order. */
  shown(): readonly string[];
}

/** Compiles it in front of the module at `real`, whose token's own PIN is `own`. */
export function newLockingModule(real: string, own: string): LockingModule {
  const directory = mkdtempSync(join(tmpdir(), "pkid-locking-"));
  const path = join(directory, "locking.so");
  const state = join(directory, "state");
  const defined = [`-DSTATE="${state}"`, `-DREAL="${real}"`, `-DOWN="${own}"`];
  const source = join(import.meta.dir, "locking-module.c");
  const command = ["gcc", "-shared", "-fPIC", "-O1", ...defined, source, "-o", path, "-ldl"];
  const built = Bun.spawnSync(command);
  if (built.exitCode !== 0) throw new Error(built.stderr.toString());
  const marks = `${state}.shown`;
  return {
    path,
    set: (left, all, { silent = false, pin = "" } = {}) =>
      writeFileSync(state, `${left} ${all} ${silent ? 0 : 1} ${pin}`),
    left: () => Number(readFileSync(state, "utf8").split(" ")[0]),
    shown: () => (existsSync(marks) ? readFileSync(marks, "utf8").split("\n").slice(0, -1) : []),
  };
}
