/** `pkid hsm`: what the key store says about itself, and what was done with its keys. */

import { pageArgs, required, toggle, value } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { openOut } from "#cli/out-file.ts";
import { columns, facts, namesOf, rowsAt, textAt } from "#cli/rows.ts";

import { hsmVerifyLog } from "./hsm-verify-log.ts";

export const hsmVerbs: Readonly<Record<string, Command>> = {
  status: command({
    summary: "Tell whether the key store answers, and what it is; exit 1 when it does not.",
    run: async ({ client, print }) => {
      const status = await client.ask("hsm.info");
      print(status, facts(status, namesOf(status)));
      return textAt(status, "available") === "true" ? 0 : 1;
    },
  }),
  "factory-reset": command({
    summary: "Destroy every key of this instance on the token, for good.",
    destroys: "The keys on the token are gone for good.",
    args: {
      confirm: required("Serial of the device, as `hsm status` shows it.", "serial"),
      "destroy-ca-keys": toggle("Also keys of CAs that still sign something."),
      "destroy-retired-keks": toggle(
        "Also retired KEKs: older backups open nowhere any more, and their secrets are lost.",
      ),
    },
    run: async ({ args, client, print }) => {
      const members = {
        confirm: args.confirm,
        destroy_ca_keys: args["destroy-ca-keys"],
        destroy_retired_keks: args["destroy-retired-keks"],
      };
      const reset = await client.ask("hsm.factory_reset", members);
      print(reset, facts(reset, ["status"]));
    },
  }),
  log: command({
    summary: "Write the sign ledger, signed by the ledger key.",
    args: {
      combined: toggle("Also what was signed: certificates, requests, and the CRLs still kept."),
      from: value("From this number on.", "number"),
      to: value("Up to this number.", "number"),
      out: value("File to write instead of stdout.", "file"),
    },
    run: async ({ args: { combined, from, to, out }, client, io }) => {
      const write = openOut(io, out, "a sign ledger");
      const name = combined ? "hsm.combined_audit_log" : "hsm.signed_audit_log";
      write(await client.fetch(name, { from_number: from, to_number: to }));
    },
  }),
  "verify-log": hsmVerifyLog,
  entries: command({
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
      const list = await client.list("hsm.audit_log", { ...query, ...named }, all);
      const keys = [
        "number",
        "timestamp",
        "kind",
        "key_label",
        "operation",
        "purpose",
        "result",
      ] as const;
      print(list, columns(rowsAt(list, "items"), keys));
      // An entry that does not recompute is for whoever looks, and for scripts.
      const broken = rowsAt(list, "items").some((row) => textAt(row, "hash_valid") === "false");
      return broken ? 1 : 0;
    },
  }),
};
