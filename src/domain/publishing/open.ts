/** Opens static publishing. */

import { Publishing, type PublishingDeps } from "./publish.ts";

/** Opens it from its section; nothing is asked of the target before the first snapshot. */
export const openPublishing = (
  publish: PublishingDeps["publish"],
  deps: Omit<PublishingDeps, "publish" | "changedMax">,
): Publishing => new Publishing({ ...deps, publish, changedMax });

const changedMax = 20_000;
