/**
 * `pkid ca rotate`, `rotation`, `rotations` and `retire`: a new key for a CA, and the end of the
 * old one.
 */

import { keyType, number, pageArgs, reason, toggle, value, word } from "#cli/args.ts";
import type { Answer } from "#cli/client.ts";
import { type Command, command } from "#cli/command.ts";
import { caIdOf } from "#cli/references.ts";
import { columns, facts, rowAt, rowsAt, shellWord, textAt } from "#cli/rows.ts";
import { tellOfPlan } from "./acme-replace.ts";

export const rolloverVerbs: Readonly<Record<string, Command>> = {
  rotate: command({
    summary: "Give a CA a new key under the same name; the old key stops issuing.",
    args: {
      ca: word(),
      "new-label": value(
        "Label of the new CA (the old one and -r2, -r3, … when not given).",
        "label",
      ),
      "key-type": keyType("Key type, the old one's when not given."),
      "validity-days": number("Validity in days (the old one's when not given).", "days"),
    },
    run: async ({ args, client, print, note }) => {
      const members = {
        id: await caIdOf(client, args.ca),
        new_label: args["new-label"],
        key_type: args["key-type"],
        validity_days: args["validity-days"],
      };
      const rotated = await client.ask("ca.rotate", members);
      print(rotated, rotatedText(rotated));
      const old = textAt(rowAt(rotated, "old_ca"), "label");
      const told = await tellOfPlan(client, `--ca ${shellWord(old)} --within 7d`);
      if (told !== undefined) note(told);
    },
  }),
  rotation: command({
    summary: "Show how far the rollover of a CA has come.",
    args: { ca: word() },
    run: async ({ args, client, print }) => {
      const id = await caIdOf(client, args.ca);
      const status = await client.ask("ca.rotation", { id });
      print(status, facts(flat(status), ["id", "label", "status", ...shown]));
    },
  }),
  rotations: command({
    summary: "List rollovers that are not over.",
    args: pageArgs,
    run: async ({ args, client, print }) => {
      const { all, ...query } = args;
      const list = await client.list("ca.rotations", query, all);
      print(list, columns(rowsAt(list, "items").map(flat), ["label", ...shown]));
    },
  }),
  retire: command({
    summary: "Revoke the oldest superseded key of a CA and publish it.",
    destroys: "The key is revoked for good, with every certificate it has signed.",
    args: {
      ca: word(),
      reason: reason("cessationOfOperation"),
      force: toggle("Retire although certificates of the key are still valid."),
    },
    run: async ({ args, client, print }) => {
      const id = await caIdOf(client, args.ca);
      const { reason, force } = args;
      const retired = await client.ask("ca.retire", { id, reason, force });
      const ca = rowAt(retired, "retired_ca");
      const keys = [
        "id",
        "label",
        "status",
        "revoked_serial",
        "crl_number",
        "outstanding_leaves",
      ] as const;
      print(retired, facts({ ...ca, ...retired }, keys));
    },
  }),
};

function rotatedText(rotated: Answer<"ca.rotate">): string {
  const labels = {
    old: textAt(rowAt(rotated, "old_ca"), "label"),
    new: textAt(rowAt(rotated, "new_ca"), "label"),
    new_id: textAt(rowAt(rotated, "new_ca"), "id"),
    retire_after: rotated.retire_after,
  };
  const head = facts(labels, ["old", "new", "new_id", "retire_after"]);
  return head + textAt(rotated, "combined_chain_pem");
}

/** The CA's own members beside those of its rollover, the neighbours by label. */
const flat = (status: Answer<"ca.rotation">) => ({
  ...rowAt(status, "ca"),
  ...status,
  successor: textAt(rowAt(status, "successor"), "label"),
  predecessor: textAt(rowAt(status, "predecessor"), "label"),
});

const shown = [
  "successor",
  "predecessor",
  "outstanding_leaves",
  "retire_after",
  "safe_to_retire",
] as const;
