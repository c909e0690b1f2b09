/** `pkid retention`: lets expired certificates leave the inventory, and tells what left last. */

import { toggle } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { facts, rowOf } from "#cli/rows.ts";

export const retentionVerbs: Readonly<Record<string, Command>> = {
  run: command({
    summary: "Let certificates that expired long ago leave the inventory now.",
    local: true,
    args: { "dry-run": toggle("Only count what would leave.") },
    run: async ({ args, client, print }) => {
      const run = await client.ask("retention.run", { dry_run: args["dry-run"] });
      print(run, facts(run, ["archived", "pruned", "held_back"]));
    },
  }),
  status: command({
    summary: "Tell what the last retention did.",
    local: true,
    run: async ({ client, print }) => {
      const status = await client.ask("retention.status");
      const last = status.last === undefined ? undefined : rowOf(status.last);
      const shown = ["at", "result", "archived", "pruned", "held_back"] as const;
      print(status, last === undefined ? "There was no retention yet.\n" : facts(last, [...shown]));
    },
  }),
};
