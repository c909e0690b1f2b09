/** A second build of the binary, as an upgrade brings it. */

import { join } from "node:path";

import { ran } from "#test/support/child.ts";
import { newHome } from "./instance.ts";

/** Builds the sources under another version and gives the file. */
export async function otherBuild(version: string): Promise<string> {
  const file = join(newHome(), "pkid");
  const script = join(import.meta.dir, "../../../scripts/build.ts");
  const built = await ran([process.execPath, script, file, version]);
  if (built.code !== 0) throw new Error(`${built.stdout}${built.stderr}`);
  return file;
}
