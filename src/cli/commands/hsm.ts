/** `pkid hsm`: what the key store says about itself, and what was done with its keys. */

import { pageArgs, value } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { columns, facts, rowsAt, textAt } from "#cli/rows.ts";

export const hsmVerbs: Readonly<Record<string, Command>> = {
  status: command({
    summary: "Tell whether the key store answers, and what it is; exit 1 when it does not.",
    run: async ({ client, print }) => {
      const status = await client.ask("hsm.info");
      print(status, facts(status, Object.keys(status)));
      return textAt(status, "available") === "true" ? 0 : 1;
    },
  }),
  log: command({
    summary: "List the entries of the sign ledger, newest first.",
    args: {
      kind: value("Only one kind: genesis, key, intent, outcome or count.", "kind"),
      signer: value("Only one key, by its fingerprint.", "fingerprint"),
      from: value("From this number on.", "number"),
      to: value("Up to this number.", "number"),
      ...pageArgs,
    },
    run: async ({ args, client, print }) => {
      const { all, signer, from, to, ...query } = args;
      const named = { signer_fingerprint: signer, from_number: from, to_number: to };
      const list = await client.list("hsm.audit_log", { query: { ...query, ...named } }, all);
      const keys = ["number", "timestamp", "kind", "key_label", "operation", "purpose", "result"];
      print(list, columns(rowsAt(list, "items"), keys));
      // An entry that does not recompute is for whoever looks, and for scripts.
      const broken = rowsAt(list, "items").some((row) => textAt(row, "hash_valid") === "false");
      return broken ? 1 : 0;
    },
  }),
};
