/** The configuration in force, key by key, with where each value comes from. */

import type { Setting } from "#api/instance.ts";
import type { Read } from "#config/read.ts";
import { type Config, configSchema } from "#config/schema.ts";
import { leaves } from "#config/section.ts";
import { shownAt } from "#config/show.ts";

/**
 * Every key that has a value, in the order of the declaration. `read` reads the configuration as it
 * is written now: its origins are told, and a value that differs from the one in force waits. Where
 * it cannot be read now, that is what every origin says.
 */
export async function settingsInForce(
  config: Config,
  read: (() => Promise<Read>) | undefined,
): Promise<readonly Setting[]> {
  const now = await read?.();
  const written = now?.loaded.ok ? now.loaded : undefined;
  return leaves(configSchema).flatMap((leaf) => {
    const shown = shownAt(config, leaf);
    if (shown === undefined) return [];
    const later = written && shownAt(written.config, leaf);
    return [
      {
        path: leaf.path,
        value: shown,
        origin: written === undefined ? unreadable : (written.origins.get(leaf.path) ?? "default"),
        waits: written !== undefined && JSON.stringify(later) !== JSON.stringify(shown),
      },
    ];
  });
}

const unreadable = "unknown: the configuration cannot be read now";
