/**
 * Paths of client certificates looked for on the thread that asks, with as many failures as a test
 * wants.
 */

import { pathsHere } from "#adapters/paths/thread.ts";
import { ClientPaths } from "#domain/access/client-paths.ts";
import { AddressTurns } from "#domain/access/address-turns.ts";
import type { PathWork } from "#domain/ports.ts";

/** A service of its own; `paths` counts or delays what is asked. */
export const clientPaths = (paths: PathWork = pathsHere): ClientPaths =>
  new ClientPaths({
    paths,
    turns: new AddressTurns({
      limits: {
        atOnce: 1,
        atOncePerLane: 1,
        waitingPerLane: 128,
        waitingMax: 1024,
        failures: { rate: 1e9, burst: 1e9 },
      },
      elapsedMs: () => performance.now(),
      sleep: (milliseconds) => Bun.sleep(milliseconds),
    }),
  });

/** Where nobody in particular comes from. */
export const somewhere = { ip: "192.0.2.1" };
