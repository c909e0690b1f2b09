/**
 * `pkid keys inventory`: what the key store holds, and with `--strict` whether it is as it should
 * be.
 */

import { pageArgs, toggle } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { Failure } from "#cli/failure.ts";
import { columns, rowsAt, textAt } from "#cli/rows.ts";

export const keysInventory: Command = command({
  summary: "List the keys of the key store, whose they are, and whether they could leave.",
  args: {
    ...pageArgs,
    strict: toggle("Exit 1 when a key could leave or belongs to nothing."),
    "ledger-key": toggle("Print the public key of the sign ledger in PEM, and nothing else."),
  },
  run: async ({ args, client, print, note }) => {
    const { limit, cursor } = args;
    const wanted = args["ledger-key"];
    const list = await client.list("inventory.keys", { limit, cursor }, args.all || wanted);
    if (wanted) {
      const key = rowsAt(list, "items").find(
        ({ role, public_key }) => role === "ledger" && public_key,
      );
      if (key === undefined) throw new Failure("The key store holds no key of the sign ledger.");
      print(key, textAt(key, "public_key"));
      note(`fingerprint ${textAt(key, "public_key_fingerprint")}`);
      return 0;
    }
    const keys = [
      "label",
      "key_type",
      "provider",
      "role",
      "extractable",
      "sensitive",
      "ca_label",
    ] as const;
    print(list, columns(rowsAt(list, "items"), keys));
    const extractable = Number(textAt(list, "extractable_count"));
    const unbound = Number(textAt(list, "unbound_count"));
    if (extractable > 0) note(`Keys that could leave: ${extractable}.`);
    if (unbound > 0) note(`Keys that belong to nothing: ${unbound}.`);
    return args.strict && extractable + unbound > 0 ? 1 : 0;
  },
});
