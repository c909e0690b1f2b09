/** `pkid inventory`: figures of all certificates one may read. */

import { number, value } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { columns, rowsAt } from "#cli/rows.ts";

export const inventoryVerbs: Readonly<Record<string, Command>> = {
  days: command({
    summary: "Show what was issued and revoked on each UTC day, under the CAs you may read.",
    args: {
      days: number("Days to show (30 when not given).", "n"),
      tenant: value("Under the CAs of this tenant only.", "tenant"),
    },
    run: async ({ args: { days, tenant }, client, print }) => {
      const told = await client.ask("inventory.days", { days, tenant });
      print(told, columns(rowsAt(told, "items"), ["date", "issued", "revoked"]));
    },
  }),
};
