/** Where an archive is unpacked to be looked at, and what an earlier look has left there. */

import { existsSync, lstatSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * A path that is not there yet: in the data directory, whose volume has room for an instance, or
 * among temporary files where there is none. Removes what a look that was killed has left behind
 * more than a day ago.
 */
export function scratchPlace(dataDir: string): string {
  const place = existsSync(dataDir) ? dataDir : tmpdir();
  for (const name of readdirSync(place).filter((one) => placeForm.test(one))) {
    const path = join(place, name);
    if (isLeft(path)) rmSync(path, { recursive: true, force: true });
  }
  return join(place, `pkid-drill-${crypto.randomUUID()}`);
}

/** Among temporary files anybody may make one of that name: those of others are left alone. */
function isLeft(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  const own = found?.isDirectory() === true && found.uid === process.getuid?.();
  return own && Date.now() - found.mtimeMs > leftMs;
}

const placeForm = /^pkid-drill-[0-9a-f-]{36}$/;
const leftMs = 86_400_000;
