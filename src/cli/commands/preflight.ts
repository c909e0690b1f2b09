/** `pkid preflight`: says what is wrong with the instance and its host, and what to do about it. */

import { many, number, toggle, unless, valueOr } from "#cli/args.ts";
import { Client } from "#cli/client.ts";
import { command, type Invocation } from "#cli/command.ts";
import { NoInstance, UsageError } from "#cli/failure.ts";
import { noInstance, readHere, refuseElsewhere, secondsOf } from "#cli/open-reach.ts";
import { socketReach } from "#cli/reach.ts";
import { printable, type Row, rowOf, rowsAt, textAt } from "#cli/rows.ts";
import type { Fitting } from "#cli/table.ts";
import { printVerdict } from "#cli/verdict.ts";
import { wrapped } from "#cli/wrapped.ts";
import { near } from "#config/nearest.ts";
import { type CheckName, checkNames } from "#core/preflight/checks.ts";
import type { PreflightRequest } from "#domain/preflight/run.ts";

const args = {
  deep: toggle("Also read the whole database."),
  only: many("Only these checks.", "ids"),
  timeout: valueOr("Longest time for one check.", "duration", "60s"),
  "expiry-warn-days": number("Warn this long before a certificate expires; 30.", "days"),
  "expiry-fail-days": number("Fail this long before a certificate expires; 7.", "days"),
  "audit-sample": number("Newest events and ledger entries to verify; 1000.", "n"),
  network: unless("Ask nothing of other hosts."),
};

export const preflight = command({
  summary:
    "Check the instance, its host and what it depends on; exit 1 with warnings, 2 with failures.",
  local: true,
  args,
  run: async (invocation) => {
    const { globals, io, print } = invocation;
    const report = await invocation.patiently(reported(invocation, requestOf(invocation.args)));
    printVerdict(() => print(report, shownReport(report, colours({ globals, io }))));
    const summary = rowOf(report.summary);
    if (Number(summary.fail) > 0) return 2;
    return Number(summary.warn) > 0 ? 1 : 0;
  },
});

/** From the server that runs on this data directory, else from a look of this process. */
export async function reported(
  { globals, io, deps }: Pick<Invocation<typeof args>, "globals" | "io" | "deps">,
  request: PreflightRequest,
): Promise<Row> {
  refuseElsewhere(globals, io);
  const read = readHere(globals, io);
  const patienceMs = (request.timeoutSeconds + answerSeconds) * 1000;
  const running = read.loaded.ok ? await socketReach(read.loaded.config, patienceMs) : undefined;
  if (running === undefined) {
    try {
      return rowOf(await deps.preflight(read, io.env, request));
    } catch (error) {
      if (!(error instanceof NoInstance && read.loaded.ok)) throw error;
      const { data_dir: dataDir } = read.loaded.config;
      // Exit 1 would mean warnings.
      throw new UsageError(noInstance(globals, io, { ...read, dataDir }).message);
    }
  }
  return await new Client(async () => running).ask("preflight.run", {
    deep: request.deep,
    only: request.only,
    network: request.network,
    timeout_seconds: request.timeoutSeconds,
    audit_sample: request.auditSample,
    expiry_warn_days: request.expiryWarnDays,
    expiry_fail_days: request.expiryFailDays,
  });
}

function requestOf(given: Invocation<typeof args>["args"]): PreflightRequest {
  const timeoutSeconds = secondsOf("--timeout", given.timeout);
  if (timeoutSeconds < 1 || timeoutSeconds > timeoutSecondsMax) {
    throw new UsageError(`--timeout must be from 1s to ${timeoutSecondsMax}s.`);
  }
  return {
    deep: given.deep,
    only: given.only.map(known),
    timeoutSeconds,
    expiryWarnDays: given["expiry-warn-days"] ?? 30,
    expiryFailDays: given["expiry-fail-days"] ?? 7,
    auditSample: Math.max(1, given["audit-sample"] ?? 1000),
    network: given.network,
  };
}

function known(word: string): CheckName {
  const found = checkNames.find((name) => name === word);
  if (found !== undefined) return found;
  const close = near(word, checkNames);
  const hint =
    close === undefined ? `There are ${checkNames.join(", ")}.` : `Did you mean ${close}?`;
  throw new UsageError(`There is no check ${word}. ${hint}`);
}

/** One line per check, below each that warns or fails its remedy, and the counts. */
export function shownReport(report: Row, colour: boolean): Fitting {
  const summary = rowOf(report.summary);
  const counts = ["pass", "warn", "fail", "skip"].map((key) => `${textAt(summary, key)} ${key}`);
  const text = (width?: number) =>
    `${checkLines(rowsAt(report, "checks"), colour, width).join("\n")}\n\n${counts.join(", ")}\n`;
  return { toString: () => text(), fitted: (width) => text(width) };
}

/**
 * Checks under a header. With a width, what was found and the remedy are broken into their column,
 * or below the name of the check where that leaves them no room.
 */
function checkLines(
  checks: readonly Row[],
  colour: boolean,
  width: number | undefined,
): readonly string[] {
  const names = checks.map((check) => printable(textAt(check, "name")));
  const beside = statusRoom + Math.max("CHECK".length, ...names.map((name) => name.length)) + 2;
  const narrow = width !== undefined && width - beside < detailMin;
  const indent = narrow ? statusRoom : beside;
  const inColumn = (text: string) =>
    (width === undefined ? [text] : wrapped(text, width - indent)).map(
      (line) => " ".repeat(indent) + line,
    );
  const head = `${"STATUS".padEnd(statusRoom)}${"CHECK".padEnd(beside - statusRoom)}DETAIL`;
  const told = checks.flatMap((check, at) => {
    const [status, remedy] = [textAt(check, "status"), textAt(check, "remedy")];
    const title = status.padEnd(statusRoom) + (names[at] ?? "");
    const [first = "", ...more] = inColumn(printable(textAt(check, "detail")));
    const opened = narrow
      ? [title, first.trimEnd()]
      : [`${title.padEnd(indent)}${first.slice(indent)}`.trimEnd()];
    const cure = remedy === "" ? [] : inColumn(`→ ${printable(remedy)}`);
    const [line = "", ...below] = [...opened, ...more, ...cure];
    return [painted(line, status, colour), ...below];
  });
  return [narrow ? head.replace(/ +DETAIL$/, "") : head, ...told];
}

/** True where a report is painted. */
export const colours = ({ globals, io }: Pick<Invocation<typeof args>, "globals" | "io">) =>
  io.stdout.isTerminal && globals.color && io.env.NO_COLOR === undefined;

function painted(line: string, status: string, colour: boolean): string {
  const code = codes[status];
  if (!colour || code === undefined) return line;
  return `\u001b[${code}m${line.slice(0, status.length)}\u001b[0m${line.slice(status.length)}`;
}

const codes: Readonly<Record<string, string>> = { pass: "32", warn: "33", fail: "31", skip: "2" };
const statusRoom = "STATUS".length + 2;
/** Narrower than this a column of sentences cannot be read. */
const detailMin = 28;
const answerSeconds = 10;
const timeoutSecondsMax = 240;
