/** `pkid sessions`: who is logged in, and ending a session. */

import { pageArgs, word } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { columns, rowsAt, textAt } from "#cli/rows.ts";

export const sessionsVerbs: Readonly<Record<string, Command>> = {
  list: command({
    summary: "List live sessions, newest first.",
    args: pageArgs,
    run: async ({ args, client, print }) => {
      const { all, ...query } = args;
      const list = await client.list("session.list", query, all);
      const keys = ["id", "user_sub", "method", "roles", "ip", "created_at", "expires_at"] as const;
      print(list, columns(rowsAt(list, "items"), keys));
    },
  }),
  end: command({
    summary: "End a session at once.",
    args: { id: word() },
    run: async ({ args: { id }, client, print }) => {
      const result = await client.ask("session.end", { id });
      print(result, `${textAt(result, "status")}\n`);
    },
  }),
};
