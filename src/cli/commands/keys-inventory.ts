/** `pkid keys inventory`: what the key store holds, and with `--strict` whether it is as it should be. */

import { pageArgs, toggle } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { columns, rowsAt, textAt } from "#cli/rows.ts";

export const keysInventory: Command = command({
  summary: "List the keys of the key store, whose they are, and whether they could leave.",
  args: {
    ...pageArgs,
    strict: toggle("Exit 1 when a key could leave or belongs to nothing."),
  },
  run: async ({ args, client, print, note }) => {
    const { limit, cursor } = args;
    const list = await client.list("inventory.keys", { query: { limit, cursor } }, args.all);
    const keys = ["label", "key_type", "provider", "role", "extractable", "sensitive", "ca_label"];
    print(list, columns(rowsAt(list, "items"), keys));
    const extractable = Number(textAt(list, "extractable_count"));
    const unbound = Number(textAt(list, "unbound_count"));
    if (extractable > 0) note(`Keys that could leave: ${extractable}.`);
    if (unbound > 0) note(`Keys that belong to nothing: ${unbound}.`);
    return args.strict && extractable + unbound > 0 ? 1 : 0;
  },
});
