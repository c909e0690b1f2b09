/** Where an archive is unpacked to be looked at. */

import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { cleanWorkDirectories } from "#app/work-directories.ts";

/**
 * A path that is not there yet: in the data directory, whose volume has room for an instance, or
 * among temporary files where there is none. Removes what a look that was killed has left behind.
 */
export function scratchPlace(dataDir: string): string {
  const place = existsSync(dataDir) ? dataDir : tmpdir();
  cleanWorkDirectories(place, placeForm);
  return join(place, `pkid-drill-${crypto.randomUUID()}`);
}

const placeForm = /^pkid-drill-[0-9a-f-]{36}$/;
