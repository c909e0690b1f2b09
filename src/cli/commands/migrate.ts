/** `pkid migrate`: brings the database schema up to the binary. */

import { toggle } from "#cli/args.ts";
import { command, type MigrationMode, type MigrationReport } from "#cli/command.ts";
import { NoInstance, UsageError } from "#cli/failure.ts";
import { migrationAgreed } from "#cli/migration-agreed.ts";
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
    const migrated = (asked: MigrationMode) =>
      patiently(deps.migrate(config, asked)).catch((error) => {
        if (!(error instanceof NoInstance)) throw error;
        throw noInstance(globals, io, { dataDir: config.data_dir, fileName });
      });
    if (mode === "apply") {
      const line = "pkid migrate";
      await migrationAgreed({ line, config, yes: globals.yes, io }, () => migrated("status"));
    }
    const report = await migrated(mode);
    print(report, human(report, mode === "apply" ? "applied" : "pending"));
  },
});

function human(report: MigrationReport, word: string): string {
  const { driver, current, newest, migrations, copy, backup } = report;
  const lines = [`${driver}: schema ${current} of ${newest}`];
  for (const name of migrations) lines.push(`${word}: ${name}`);
  if (copy !== undefined) lines.push(`copy: ${copy}`);
  if (backup) lines.push(`newest backup: ${backup.artifact}, of ${backup.created_at}`);
  if (backup === null) lines.push("newest backup: none is known");
  return `${lines.join("\n")}\n`;
}
