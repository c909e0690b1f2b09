/** `pkid ct`: which SCTs the transparency logs kept, and a check of it now. */

import { choice, number, pageArgs, value } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { columns, facts, rowAt, rowsAt } from "#cli/rows.ts";
import { toSerialValue } from "#cli/serials.ts";

const states = ["pending", "included", "failed", "unknown_log"] as const;

export const ctVerbs: Readonly<Record<string, Command>> = {
  status: command({
    summary: "List the SCTs of transparency logs, and whether they were kept.",
    args: {
      ca: value("Only one CA, by id or label.", "ca"),
      serial: value("Only one certificate.", "serial"),
      status: choice("Only one state.", "state", ["any", ...states]),
      ...pageArgs,
    },
    run: async ({ args, globals, client, print }) => {
      const { all, status, ...filters } = args;
      const serial = toSerialValue(args.serial, globals["serial-format"]);
      const members = { ...filters, serial, status: status === "any" ? undefined : status };
      const list = await client.list("ct.inclusion", members, all);
      const keys = [
        "serial",
        "log_name",
        "status",
        "sct_timestamp",
        "checks",
        "last_error",
      ] as const;
      print(list, columns(rowsAt(list, "items"), keys) + facts(rowAt(list, "counts"), states));
    },
  }),
  verify: command({
    summary: "Ask the logs now, and report what they proved.",
    local: true,
    args: { max: number("SCTs to check at most.", "n") },
    run: async ({ args, client, print }) => {
      const report = await client.ask("ct.verify", { max: args.max });
      print(report, facts(report, ["checked", "included", "failed", "unknown"]));
    },
  }),
};
