/** Keeps the memory of this process out of core files and away from debuggers of the same user. */

import { dlopen, FFIType } from "bun:ffi";

/** PR_SET_DUMPABLE 0, on Linux; best effort, because the unit file and the kernel say the same. */
export function forbidDumps(): void {
  if (process.platform !== "linux") return;
  try {
    const signature = {
      args: [FFIType.i32, FFIType.u64, FFIType.u64, FFIType.u64, FFIType.u64],
      returns: FFIType.i32,
    } as const;
    const libc = dlopen(cLibrary, { prctl: signature });
    libc.symbols.prctl(setDumpable, 0n, 0n, 0n, 0n);
    libc.close();
  } catch {
    // A C library by another name (musl): core files are then only limited by the unit file.
  }
}

const cLibrary = "libc.so.6";
const setDumpable = 4;
