/** `pkid audit`: reads and verifies the audit chain. */

import { pageArgs, tenantArg, value } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { columns, rowsAt, textAt } from "#cli/rows.ts";

export const auditVerbs: Readonly<Record<string, Command>> = {
  list: command({
    summary: "List events, newest first.",
    args: {
      action: value("Only one action, or a group like cert.*", "action"),
      actor: value("Only one actor.", "subject"),
      ca: value("Only one CA, by id or label.", "ca"),
      serial: value("Only one certificate.", "serial"),
      tenant: tenantArg,
      since: value("From this time or day on.", "time"),
      until: value("Before this time or day.", "time"),
      ...pageArgs,
    },
    run: async ({ args, client, print }) => {
      const { all, since, until, ...query } = args;
      const members = { ...query, from: since, to: until };
      const list = await client.list("event.list", members, all);
      const keys = ["seq", "timestamp", "actor", "action", "result", "target", "serial"] as const;
      print(list, columns(rowsAt(list, "items"), keys));
    },
  }),
  verify: command({
    summary: "Recompute the whole chain; exit 1 at the first broken link.",
    run: async ({ client, print }) => {
      const verdict = await client.ask("event.verify");
      const [events, head] = [textAt(verdict, "events"), textAt(verdict, "head_hash")];
      print(verdict, `${events} events, chain intact, head ${head}\n`);
    },
  }),
};
