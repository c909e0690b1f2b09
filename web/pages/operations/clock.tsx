/** What a step of the clock has paused, what that means, and how the time is confirmed. */

import type { Answers } from "#api/answers.ts";
import { Action } from "#web/ui/action.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Status } from "#web/ui/status.tsx";
import { Time } from "#web/ui/time.tsx";

type Clock = Answers["job.list"]["clock"];

/** Nothing while nothing is paused. */
export function ClockPause({ clock: { behind_until, ahead_from, ahead_to } }: { clock: Clock }) {
  const ahead = ahead_from !== undefined;
  if (behind_until === undefined && !ahead) return null;
  return (
    <section class="card" aria-labelledby="clock">
      <h2 id="clock">Clock</h2>
      {behind_until !== undefined && (
        <p>
          <Status word="paused" tone="bad" /> The clock stands before the last event: nothing is
          issued until it has passed <Time at={behind_until} />.
        </p>
      )}
      {ahead && (
        <p>
          <Status word="paused" tone="bad" /> The clock went from <Time at={ahead_from} /> to{" "}
          <Time at={ahead_to} />: what acts on many things by their age waits.
        </p>
      )}
      <p>
        Put the clock right first. Where it is right as it is, confirm it: what is paused goes on at
        once, dated by this clock. Revocation, CRLs and OCSP never stopped.
      </p>
      <div class="buttons">
        <Action
          operation="monitor.clock_accept"
          look="outlined"
          unless="On the host only, where its clock can be looked at:"
        >
          Confirm the time
        </Action>
        <Copy text="pkid monitor clock-accept" name="command" />
      </div>
    </section>
  );
}
