/** Where a result goes that is too long to be held: standard output, or a file, piece by piece. */

import { renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";

import { Failure } from "./failure.ts";
import type { FileKind } from "./file-kinds.ts";
import type { Io } from "./io.ts";
import { endow, freshBeside, placeOf, probe, removedBySignals } from "./out-file.ts";

/** Takes the result piece by piece, and none before the last is written. */
export type StreamOut = (pieces: AsyncIterable<Uint8Array>) => Promise<void>;

/**
 * As `openOut`, with a file of mode 0600 that has its name only when all of it has come: whatever
 * ends the command before, but for SIGKILL, leaves the old one and nothing of the new.
 */
export function openStreamOut(io: Io, out: string | undefined, kind: FileKind): StreamOut {
  if (out === undefined || out === "-") {
    return async (pieces) => {
      for await (const piece of pieces) io.stdout.write(piece);
    };
  }
  const asked = { kind, mode: 0o600 };
  const place = placeOf(out, asked, "nothing was done");
  if (place !== undefined) probe(place);
  return async (pieces) => {
    const now = placeOf(out, asked, "the result was not written");
    if (now === undefined) return await told(out, () => poured(out, "w", pieces));
    const fresh = freshBeside(now.target);
    const forget = removedBySignals(fresh);
    try {
      await told(now.target, async () => {
        await poured(fresh, "wx", pieces);
        endow(fresh, now);
        renameSync(fresh, now.target);
      });
    } finally {
      rmSync(fresh, { force: true });
      forget();
    }
  };
}

/** Not on this thread: a sync of gigabytes takes seconds, and a signal must be heard meanwhile. */
async function poured(file: string, flag: "w" | "wx", pieces: AsyncIterable<Uint8Array>) {
  const opened = await open(file, flag, 0o600);
  try {
    for await (const piece of pieces) {
      for (let at = 0; at < piece.length; ) at += (await opened.write(piece, at)).bytesWritten;
    }
    // A pipe or a device has nothing to sync.
    if (flag === "wx") await opened.sync();
  } finally {
    await opened.close();
  }
}

/** Only what the system says is the file's fault. */
async function told(file: string, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error && "code" in error)) throw error;
    throw new Failure(`${file} cannot be written: ${String(error.code)}.`);
  }
}
