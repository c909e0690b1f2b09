/** `pkid metrics`: what watches an instance from outside, made of the table of metrics. */

import { value, valueOr } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { UsageError } from "#cli/failure.ts";
import { secondsOf } from "#cli/open-reach.ts";
import { outFile } from "#cli/out-file.ts";
import { rulesYaml } from "#cli/rules-yaml.ts";

const out = value("File to write instead of stdout.", "file");

export const metricsVerbs: Readonly<Record<string, Command>> = {
  dashboard: command({
    summary: "Print a dashboard for Grafana to import, as JSON.",
    local: true,
    args: { out },
    run: async ({ args, deps, print }) => {
      const made = await deps.watching.dashboard();
      const text = `${JSON.stringify(made, undefined, 2)}\n`;
      if (isFile(args.out)) outFile(args.out, "a JSON document", 0o644)(text);
      else print(made, text);
    },
  }),
  alerts: command({
    summary: "Print alerting rules for Prometheus, as YAML.",
    local: true,
    args: {
      job: valueOr("Name of the scrape job of the instances.", "name", "pkid"),
      "backup-interval": valueOr("Time between backups, as configured.", "duration", "24h"),
      out,
    },
    run: async ({ args, globals, deps, print }) => {
      const job = plainName(args.job);
      const backupIntervalSeconds = secondsOf("--backup-interval", args["backup-interval"]);
      if (backupIntervalSeconds < 1) throw new UsageError("--backup-interval must be at least 1s.");
      const made = await deps.watching.alerts({ job, backupIntervalSeconds });
      const text = rulesYaml(made);
      if (!isFile(args.out)) return void print(made, text);
      if (globals.json) outFile(args.out, "a JSON document", 0o644)(`${JSON.stringify(made)}\n`);
      else outFile(args.out, "alerting rules", 0o644)(text);
    },
  }),
};

const isFile = (given: string | undefined): given is string => given !== undefined && given !== "-";

/** It stands in expressions and in a block of YAML, where a line break would begin something. */
function plainName(job: string): string {
  if (/^[\w./:@ -]{1,200}$/.test(job)) return job;
  throw new UsageError("--job may hold letters, digits, blanks and _ . / : @ - only.");
}
