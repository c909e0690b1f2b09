/** `pkid cert issue-bulk`: plans or issues the certificates of a manifest, a slice at a time. */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";

import { number, required, toggle, value, valueOr } from "#cli/args.ts";
import type { Client } from "#cli/client.ts";
import { command } from "#cli/command.ts";
import { Failure, UsageError } from "#cli/failure.ts";
import { type ManifestItem, readManifest } from "#cli/manifest.ts";
import { type Out, outFile } from "#cli/out-file.ts";
import { bar, watched } from "#cli/progress.ts";
import { caArg, caIdOf } from "#cli/references.ts";
import { columns, facts, type Row, rowsAt, textAt } from "#cli/rows.ts";

/** The command; interrupted, it is repeated with the `--operation-id` it named first. */
export const issueBulk = command({
  summary: "Issue a certificate for each line of a manifest.",
  args: {
    ca: caArg,
    manifest: required(
      "CSV with a header, or JSON lines: csr (a file), ref, profile, validity_days; - for stdin.",
      "file",
    ),
    profile: valueOr("Profile of lines that name none.", "name", "server"),
    "out-dir": value("Directory for one PEM bundle per certificate.", "dir"),
    concurrency: number("Certificates worked on at a time, 1 to 64; 8 when not given.", "n"),
    "dry-run": toggle("Say what would be issued, and issue nothing."),
    confirm: number("Number of certificates to issue; must be that of the manifest.", "count"),
    "operation-id": value("Id of a run to repeat; only what is missing is issued.", "id"),
  },
  run: async ({ args, globals, client, io, print, note }) => {
    const items = await readManifest(io, args.manifest, args.profile);
    const dry_run = args["dry-run"];
    const folder = args["out-dir"];
    if (dry_run && (folder !== undefined || args.confirm !== undefined)) {
      throw new UsageError("--dry-run excludes --out-dir and --confirm.");
    }
    // What stands in the way is said before anything is issued.
    if (folder !== undefined && existsSync(folder)) {
      for (const { ref } of items.filter((item) => plainName.test(item.ref))) {
        bundleOut(folder, ref);
      }
    }
    if (!dry_run) confirm(args.confirm, items.length);
    const operation = args["operation-id"] ?? crypto.randomUUID();
    const id = await caIdOf(client, args.ca);
    if (!dry_run) note(`Operation ${operation}; repeat it with --operation-id ${operation}.`);
    const shared = { dry_run, concurrency: args.concurrency ?? 8 };
    const run = { id, operation, items, shared };
    const tell = sparingly(note, items.length);
    const done = { count: 0 };
    const work = inSlices(client.untold(), run, (count) => {
      done.count = count;
      if (!io.stderr.isTerminal) tell(count);
    });
    const drawn = io.stderr.isTerminal && !globals.quiet && !globals.json;
    const total = await (drawn
      ? watched(io, work, async () => bar(done.count, items.length))
      : work);
    if (folder !== undefined) writeBundles(folder, rowsAt(total, "items"));
    const failed = rowsAt(total, "items").filter((item) => textAt(item, "error_code") !== "");
    const counts = dry_run ? ["requested", "valid", "invalid"] : ["requested", "issued", "failed"];
    const listed =
      failed.length === 0 ? "" : `\n${columns(failed, ["ref", "error_code", "error"])}`;
    print(total, facts(total, ["operation_id", ...counts]) + listed);
    return failed.length === 0 ? 0 : 1;
  },
});

interface BulkRun {
  readonly id: string;
  readonly operation: string;
  readonly items: readonly ManifestItem[];
  readonly shared: object;
}

/**
 * Each slice is an operation of its own, named after the whole, so that progress shows and no
 * answer is too large.
 */
async function inSlices(
  client: Client,
  { id, operation, items, shared }: BulkRun,
  progress: (done: number) => void,
): Promise<Row> {
  const answers: Row[] = [];
  for (let at = 0; at < items.length; at += sliceMax) {
    const slice = items.slice(at, at + sliceMax);
    const operation_id = `${operation}.${at / sliceMax}`;
    const wanted = { items: slice, confirm_count: slice.length, operation_id };
    answers.push(await client.ask("cert.issue_bulk", { id, ...shared, ...wanted }));
    progress(Math.min(items.length, at + sliceMax));
  }
  const sum = (key: string) => answers.reduce((all, answer) => all + Number(answer[key] ?? 0), 0);
  const numbers = [...counted].filter((key) => answers.some((answer) => key in answer));
  const all = answers.flatMap((answer) => rowsAt(answer, "items"));
  return {
    ...answers[0],
    operation_id: operation,
    ...Object.fromEntries(numbers.map((key) => [key, sum(key)])),
    items: all.map((item, index) => ({ ...item, index })),
  };
}

/** Says how far it has come after the first slice, and then every ten seconds at most. */
function sparingly(note: (sentence: string) => void, total: number): (done: number) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (done) => {
    const now = performance.now();
    if (done === total || now - last < lineMs) return;
    last = now;
    note(`${done} of ${total}`);
  };
}

function confirm(confirmed: number | undefined, actual: number): void {
  if (confirmed === undefined) throw new UsageError("--confirm <count> is required.");
  if (confirmed === actual) return;
  const facts = { confirm_count: confirmed, actual_count: actual };
  const sentence = `The manifest has ${actual} lines, not ${confirmed}; nothing was changed.`;
  throw new Failure(sentence, "confirm_count_mismatch", facts);
}

/** One file per issued item, named by its ref where that is a plain name, else by its serial. */
function writeBundles(folder: string, items: readonly Row[]): void {
  mkdirSync(folder, { recursive: true });
  for (const item of items) {
    const [ref, serial] = [textAt(item, "ref"), textAt(item, "serial")];
    const name = plainName.test(ref) ? ref : serial;
    if (/^\d+$/.test(serial)) bundleOut(folder, name)(textAt(item, "chain"));
  }
}

const bundleOut = (folder: string, name: string): Out =>
  outFile(join(folder, `${name}.pem`), "a certificate", 0o644);

const counted = [
  "requested",
  "valid",
  "invalid",
  "need_approval",
  "issued",
  "pending",
  "failed",
  "duration_seconds",
] as const;
const plainName = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/;
const sliceMax = 250;
const lineMs = 10_000;
