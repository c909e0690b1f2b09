/** Where an archive is unpacked to be looked at, and what an earlier look has left there. */

import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * A path that is not there yet: in the data directory, whose volume has room for an instance, or
 * among temporary files where there is none. Removes what a look that was killed has left behind
 * more than a day ago.
 */
export function scratchPlace(dataDir: string): string {
  if (!existsSync(dataDir)) return join(mkdtempSync(join(tmpdir(), "pkid-drill-")), "place");
  for (const name of readdirSync(dataDir).filter((one) => placeForm.test(one))) {
    const path = join(dataDir, name);
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    if (made !== undefined && Date.now() - made > leftMs)
      rmSync(path, { recursive: true, force: true });
  }
  return join(dataDir, `drill-${crypto.randomUUID().slice(0, 8)}`);
}

const placeForm = /^drill-[0-9a-f]{8}$/;
const leftMs = 86_400_000;
