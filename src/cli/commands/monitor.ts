/** `pkid monitor`: what is watched, and the confirmation of a clock that was set. */

import { severities } from "#core/expiry/severity.ts";
import { choice, number, toggle, value } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { columns, facts, rowAt, rowsAt, textAt } from "#cli/rows.ts";

const urgency = ["severity", "expires_in", "not_after", "common_name", "serial"] as const;

export const monitorVerbs: Readonly<Record<string, Command>> = {
  expiring: command({
    summary: "List certificates by the time they have left, the most urgent first.",
    args: {
      ca: value("Only one CA, by id or label.", "ca"),
      days: number("Only those that end within so many days, or have ended.", "n"),
      severity: choice("Only those as urgent as this, or more.", "severity", severities),
      "include-superseded": toggle("Also those that a later certificate has superseded."),
    },
    run: async ({ args, client, print, note }) => {
      const { "include-superseded": include_superseded, ...given } = args;
      const severity = given.severity === "ok" ? undefined : given.severity;
      const answer = await client.ask("monitor.expiring", {
        ...given,
        severity,
        include_superseded,
      });
      const rows = columns(rowsAt(answer, "certificates"), [...urgency, "profile", "ca_label"]);
      print(
        answer,
        rows + facts(rowAt(answer, "counts"), ["expired", "critical", "warning", "ok"]),
      );
      if (textAt(answer, "truncated") === "true") {
        note(`These are the most urgent of ${textAt(answer, "total")}.`);
      }
    },
  }),
  "clock-accept": command({
    summary: "Confirm the time of this host, and resume what a step of the clock has paused.",
    local: true,
    run: async ({ client, print, note }) => {
      const answer = await client.ask("monitor.clock_accept");
      print(answer, facts(answer, ["resumed", "time"]));
      if (textAt(answer, "resumed") === "") note("Nothing was paused.");
    },
  }),
};
