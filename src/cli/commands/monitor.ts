/** `pkid monitor`: what is watched, and the confirmation of a clock that was set. */

import { type Command, command } from "#cli/command.ts";
import { facts, textAt } from "#cli/rows.ts";

export const monitorVerbs: Readonly<Record<string, Command>> = {
  "clock-accept": command({
    summary: "Confirm the time of this host, and resume what a step of the clock has paused.",
    local: true,
    run: async ({ client, print, note }) => {
      const answer = await client.ask("monitor.clock_accept");
      print(answer, facts(answer, ["resumed", "time"]));
      if (textAt(answer, "resumed") === "") note("Nothing was paused.");
    },
  }),
};
