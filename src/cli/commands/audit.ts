/** `pkid audit`: reads and verifies the audit chain. */

import { type Command, command } from "#cli/command.ts";
import { number, toggle, value } from "#cli/flags.ts";
import { columns, rowsAt, textAt } from "#cli/rows.ts";

export const auditVerbs: Readonly<Record<string, Command>> = {
  list: command({
    summary: "List events, newest first.",
    flags: {
      action: value("Only one action, or a group like cert.*", "<action>"),
      actor: value("Only one actor.", "<subject>"),
      ca: value("Only one CA, by id or label.", "<ca>"),
      serial: value("Only one certificate.", "<serial>"),
      since: value("From this time or day on.", "<time>"),
      until: value("Before this time or day.", "<time>"),
      limit: number("Rows per page.", "<n>"),
      cursor: value("Where the last page ended.", "<cursor>"),
      all: toggle("Follow every page."),
    },
    run: async ({ flags, client, print }) => {
      const { all, since, until, ...query } = flags;
      const question = { query: { ...query, from: since, to: until } };
      const list = await client.list("event.list", question, all);
      const keys = ["seq", "timestamp", "actor", "action", "result", "target", "serial"];
      print(list, columns(rowsAt(list, "items"), keys));
      return 0;
    },
  }),
  verify: command({
    summary: "Recompute the whole chain; exit 1 at the first broken link.",
    run: async ({ client, print }) => {
      const verdict = await client.ask("event.verify");
      const [events, head] = [textAt(verdict, "events"), textAt(verdict, "head_hash")];
      print(verdict, `${events} events, chain intact, head ${head}\n`);
      return 0;
    },
  }),
};
