/** The confirmation of the time after a step of the clock (PRC-4). */

import { many, oneOf, shape } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { thePlatform } from "#domain/access/targets.ts";
import type { ClockWatch } from "#domain/clock-watch.ts";
import type { Clock } from "#domain/ports.ts";
import type { OperationName } from "#operations";
import { time } from "./shapes.ts";

const acceptedShape = shape({ resumed: many(oneOf(["issuance", "mass_actions"])), time });

/** Handler for `monitor.clock_accept`. */
export function clockHandlers(deps: {
  readonly clock: Clock;
  readonly clockWatch: Pick<ClockWatch, "accept">;
}) {
  return {
    "monitor.clock_accept": operation({
      summary: "Confirms the time of the host; what a step of the clock has paused goes on.",
      target: thePlatform,
      output: acceptedShape,
      run: async ({ origin }) => {
        const resumed = await deps.clockWatch.accept(origin);
        return { resumed, time: timestamp(deps.clock.now()) };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}
