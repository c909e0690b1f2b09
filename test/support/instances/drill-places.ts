/** Where drills unpack beside an instance, while they are at it. */

import { readdirSync } from "node:fs";

import type { Instance } from "./instance.ts";

/** Names in the data directory; when no drill is at work there is none. */
export const drillPlaces = ({ dataDir }: Pick<Instance, "dataDir">): readonly string[] =>
  readdirSync(dataDir).filter((name) => name.includes("drill"));
