/** `pkid db`: holds the database against its own rules. */

import { toggle } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
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
};

const usual: readonly CheckName[] = ["db.connectivity", "db.schema", "db.integrity"];
const chains: readonly CheckName[] = ["audit.chain_head", "ledger.head"];
/** Newest events and entries; all of them are walked by `pkid audit verify`. */
const sample = 100_000;
const timeoutSeconds = 240;
