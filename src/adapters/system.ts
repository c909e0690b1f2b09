/** Time and randomness from the operating system. */

import { randomFillSync, randomUUID } from "node:crypto";

import { instant } from "#core/time.ts";
import type { Clock, Random } from "#domain/ports.ts";

/** The host's wall clock. */
export const systemClock: Clock = { now: () => instant(Date.now()) };

/** The host's CSPRNG. */
export const systemRandom: Random = {
  bytes: (length) => randomFillSync(new Uint8Array(length)),
  uuid: () => randomUUID(),
};
