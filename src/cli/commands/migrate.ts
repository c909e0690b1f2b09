/** `pkid migrate`: brings the database schema up to the binary. */

import { toggle } from "#cli/args.ts";
import { command, type MigrationReport } from "#cli/command.ts";
import { NoInstance, UsageError } from "#cli/failure.ts";
import { loadedConfig, noInstance, refuseElsewhere } from "#cli/open-reach.ts";

export const migrate = command({
  summary: "Bring the database schema up to the binary; sqlite gets a verified copy first.",
  local: true,
  args: {
    status: toggle("Only tell the schema version and what is pending."),
    "dry-run": toggle("Only tell what would be applied."),
  },
  run: async ({ args, globals, io, deps, print, patiently }) => {
    if (args.status && args["dry-run"]) {
      throw new UsageError("Only one of --status and --dry-run may be given.");
    }
    refuseElsewhere(globals, io);
    const { config, fileName } = loadedConfig(globals, io);
    const mode = args.status ? "status" : args["dry-run"] ? "dry-run" : "apply";
    const report = await patiently(deps.migrate(config, mode)).catch((error) => {
      if (!(error instanceof NoInstance)) throw error;
      throw noInstance(globals, io, { dataDir: config.data_dir, fileName });
    });
    print(report, human(report, mode === "apply" ? "applied" : "pending"));
  },
});

function human(report: MigrationReport, word: string): string {
  const { driver, current, newest, migrations, copy } = report;
  const lines = [`${driver}: schema ${current} of ${newest}`];
  for (const name of migrations) lines.push(`${word}: ${name}`);
  if (copy !== undefined) lines.push(`copy: ${copy}`);
  return `${lines.join("\n")}\n`;
}
