/** `pkid db`: checks the database against its own rules, accepts an older one, and moves it. */

import { number, required, toggle } from "#cli/args.ts";
import type { Client } from "#cli/client.ts";
import { type Command, command, type MoveAsked, type MoveReport } from "#cli/command.ts";
import { NoInstance, Refusal, UsageError } from "#cli/failure.ts";
import { loadedConfig, noInstance, refuseElsewhere } from "#cli/open-reach.ts";
import { facts, rowOf, rowsAt, textAt } from "#cli/rows.ts";
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
  "accept-rollback": command({
    summary: "Accept a database that lacks acknowledged changes, and resume writing.",
    local: true,
    run: async ({ client, print, note }) => {
      const accepted = await client.ask("db.accept_rollback");
      if (textAt(accepted, "accepted") !== "true") {
        print(accepted, "The database has every acknowledged change; nothing was changed.\n");
        return 0;
      }
      print(accepted, facts(accepted, acceptedFields));
      const unsigned = await publishEveryCrl(client);
      for (const { label, code } of unsigned) {
        note(`No new CRL for CA ${label} (${code}): run \`pkid crl publish --ca ${label}\`.`);
      }
      return unsigned.length === 0 ? 0 : 1;
    },
  }),
  migrate: command({
    summary: "Move everything into the empty database that another configuration file names.",
    local: true,
    args: {
      "to-config": required("The configuration with the other `database`; keys stay.", "file"),
      "dry-run": toggle("Only tell what would be moved."),
      again: toggle("Also what was moved before, when that copy was never in service."),
      resume: toggle("Go on with the copy that an interrupted move has left."),
      batch: number("Rows at a time (1000).", "n"),
      "verify-only": toggle("Only hold the copy against what it was made of."),
    },
    run: async ({ args, globals, io, deps, print, note, patiently }) => {
      refuseElsewhere(globals, io);
      const { config, fileName } = loadedConfig(globals, io);
      const to = loadedConfig({ ...globals, config: args["to-config"] }, io).config;
      const asked = askedOf(args);
      const report = await patiently(deps.move(config, to, asked)).catch((error) => {
        if (!(error instanceof NoInstance)) throw error;
        throw noInstance(globals, io, { dataDir: config.data_dir, fileName });
      });
      print(report, moveText(report, asked.only));
      if (asked.only !== undefined) return;
      note(`From now on start with ${args["to-config"]}: the old database opens no more.`);
      note("Requests in the access log stay where they are.");
    },
  }),
};

const acceptedFields = [
  "reason",
  "seq",
  "acknowledged_seq",
  "ledger_number",
  "acknowledged_ledger_number",
] as const;

/**
 * Publishes a base for every CA that can sign one, as after a restore.
 *
 * @returns the CAs whose list could not be signed, with the code of the refusal
 */
async function publishEveryCrl(
  client: Client,
): Promise<readonly { readonly label: string; readonly code: string }[]> {
  const rows = rowsAt(await client.list("ca.list", { limit: 500 }, true), "items");
  const unsigned: { readonly label: string; readonly code: string }[] = [];
  for (const row of rows) {
    try {
      await client.ask("crl.publish", { id: textAt(row, "id") });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const code = textAt(error.body, "code");
      // A CA without certificate, or after its expiry, publishes nothing.
      if (code === "not_found" || code === "crl_unavailable") continue;
      unsigned.push({ label: textAt(row, "label"), code });
    }
  }
  return unsigned;
}

const usual: readonly CheckName[] = ["db.connectivity", "db.schema", "db.integrity"];
const chains: readonly CheckName[] = ["audit.chain_head", "ledger.head"];
/** Newest events and entries; all of them are walked by `pkid audit verify`. */
const sample = 100_000;
const timeoutSeconds = 240;

interface MoveFlags {
  readonly "dry-run": boolean;
  readonly "verify-only": boolean;
  readonly again: boolean;
  readonly resume: boolean;
  readonly batch: number | undefined;
}

function askedOf({ again, resume, batch, ...only }: MoveFlags): MoveAsked {
  const [dry, verify] = [only["dry-run"], only["verify-only"]];
  if (dry && verify) throw new UsageError("`--dry-run` and `--verify-only` exclude each other.");
  if (again && resume) throw new UsageError("`--again` and `--resume` exclude each other.");
  if (batch !== undefined && (batch < 1 || batch > batchMax)) {
    throw new UsageError(`\`--batch\` is 1 to ${batchMax}.`);
  }
  return { only: dry ? "count" : verify ? "compare" : undefined, again, resume, batch };
}

const batchMax = 10_000;

function moveText(
  { from, to, tables, event_seq, ledger_number }: MoveReport,
  only: MoveAsked["only"],
): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const filled = tables.filter((table) => table.rows > 0);
  const lines = filled.map((table) => `  ${table.table.padEnd(22)} ${table.rows}\n`).join("");
  if (only === "count") return `${from} to ${to}, ${rows} rows would be moved:\n${lines}`;
  const chains = `event ${event_seq} and ledger entry ${ledger_number}`;
  if (only === "compare") {
    return `${from} and ${to}, ${rows} rows are the same, chains verified to ${chains}:\n${lines}`;
  }
  return `${from} to ${to}, ${rows} rows moved and read back, chains verified to ${chains}:\n${lines}`;
}
