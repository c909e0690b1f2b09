/** `pkid db`: holds the database against its own rules, and moves it. */

import { required, toggle } from "#cli/args.ts";
import { type Command, command, type MoveReport } from "#cli/command.ts";
import { NoInstance } from "#cli/failure.ts";
import { loadedConfig, noInstance, refuseElsewhere } from "#cli/open-reach.ts";
import { rowOf } from "#cli/rows.ts";
import type { CheckName } from "#core/preflight/checks.ts";
import { colours, reported, shownReport } from "./preflight.ts";

export const dbVerbs: Readonly<Record<string, Command>> = {
  check: command({
    summary: "Check pages, references and the rules between tables; exit 1 when one is broken.",
    local: true,
    args: {
      deep: toggle("Also recompute the newest 100,000 events and ledger entries."),
    },
    run: async ({ args, globals, io, deps, print }) => {
      const report = await reported(
        { globals, io, deps },
        {
          deep: true,
          only: args.deep ? [...usual, ...chains] : usual,
          timeoutSeconds,
          expiryWarnDays: 30,
          expiryFailDays: 7,
          auditSample: sample,
          network: false,
        },
      );
      print(report, shownReport(report, colours({ globals, io })));
      return Number(rowOf(report.summary).fail) > 0 ? 1 : 0;
    },
  }),
  migrate: command({
    summary: "Move everything into the empty database that another configuration file names.",
    local: true,
    args: {
      "to-config": required("The configuration with the other `database`; keys stay.", "file"),
      "dry-run": toggle("Only tell what would be moved."),
      again: toggle("Also what was moved before, when that copy was never in service."),
    },
    run: async ({ args, globals, io, deps, print, note, patiently }) => {
      refuseElsewhere(globals, io);
      const { config, fileName } = loadedConfig(globals, io);
      const to = loadedConfig({ ...globals, config: args["to-config"] }, io).config;
      const asked = { dryRun: args["dry-run"], again: args.again };
      const report = await patiently(deps.move(config, to, asked)).catch((error) => {
        if (!(error instanceof NoInstance)) throw error;
        throw noInstance(globals, io, { dataDir: config.data_dir, fileName });
      });
      print(report, moveText(report, asked.dryRun));
      if (asked.dryRun) return;
      note(`From now on start with ${args["to-config"]}: the old database opens no more.`);
      note("Requests in the access log stay where they are.");
    },
  }),
};

const usual: readonly CheckName[] = ["db.connectivity", "db.schema", "db.integrity"];
const chains: readonly CheckName[] = ["audit.chain_head", "ledger.head"];
/** Newest events and entries; all of them are walked by `pkid audit verify`. */
const sample = 100_000;
const timeoutSeconds = 240;

function moveText({ from, to, tables, event_seq, ledger_number }: MoveReport, dryRun: boolean) {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const filled = tables.filter((table) => table.rows > 0);
  const lines = filled.map((table) => `  ${table.table.padEnd(22)} ${table.rows}\n`).join("");
  if (dryRun) return `${from} to ${to}, ${rows} rows would be moved:\n${lines}`;
  const chains = `event ${event_seq} and ledger entry ${ledger_number}`;
  return `${from} to ${to}, ${rows} rows moved and read back, chains verified to ${chains}:\n${lines}`;
}
