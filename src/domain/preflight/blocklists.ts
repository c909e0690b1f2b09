/** Whether the files with weak keys are read, and are not old. */

import { failed, type Finding, gathered, warned } from "#core/preflight/finding.ts";
import type { Store } from "#domain/store.ts";
import type { Part } from "./part.ts";

/** What a look at the files found. */
export type BlocklistLook =
  | { readonly digests: number; readonly files: readonly { path: string; ageMs: number }[] }
  | { readonly fault: string };

/** `wrong` is what is wrong with the setting itself. */
export async function blocklistsRead(
  wrong: readonly string[],
  store: Part<Store>,
  look: () => BlocklistLook,
): Promise<Finding> {
  if (wrong.length > 0) return failed(wrong.join(" "));
  const blocked =
    "open" in store ? await store.open.read.keyChecks.page("platform", {}, 1) : undefined;
  const keys = blocked === undefined ? "" : ` Blocked keys: ${blocked.total}.`;
  const found = look();
  if ("fault" in found) return failed(found.fault);
  const { digests, files } = found;
  const old = files.filter(({ ageMs }) => ageMs > yearMs);
  const loaded =
    files.length === 0
      ? "No list of weak keys is loaded."
      : `${files.length} files list ${digests} weak keys.`;
  return gathered(
    old.map(({ path }) => warned(`${path} is older than a year.`)),
    `${loaded}${keys}`,
  );
}

const yearMs = 365 * 86_400_000;
