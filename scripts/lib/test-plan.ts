/** Plan of the test run: files that share a process, their order, and their outcomes. */

import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { coverageVariable } from "./coverage-folder.ts";

/** Groups of files; each group is one process of the test runner. */
export type Groups = readonly (readonly string[])[];

/** In the order in which they start. */
export interface Plan {
  /** Each keeps a core busy. */
  readonly working: Groups;
  /** Each leaves its core idle most of the time. */
  readonly waiting: Groups;
}

/** What one process left behind. */
export interface Outcome {
  readonly files: readonly string[];
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** `file: name` of each test that failed, with the beginning of what it failed on and where. */
  readonly failures: readonly string[];
  /** A line for each file with tests that were skipped: how many, and by which conditions. */
  readonly skips: readonly string[];
  /** Files that have no result: the process was ended, or died, before it wrote one. */
  readonly missing: readonly string[];
  readonly seconds: number;
  /**
   * Of the processor, by all processes that somebody waited for. Much less is a file that waits, or
   * whose signers worked: those end after their server.
   */
  readonly processorSeconds: number;
  /** Wall time of each file that has a result. */
  readonly fileSeconds: ReadonlyMap<string, number>;
  /** Standard output and standard error, then the ends of the logs of servers if a test failed. */
  readonly output: string;
}

export interface RunOptions {
  readonly root: string;
  /** Folder for reports and for what the tests write; each process has one of its own in it. */
  readonly scratch: string;
  /** How many run at once, and how many more of those that wait. */
  readonly processes: number;
  readonly waiting: number;
  /** Folder that `prepareCoverage` has filled; undefined if branches are not counted. */
  readonly coverage?: string | undefined;
  /** Nothing is started after it, and what runs is killed. */
  readonly end: AbortSignal;
  ended(outcome: Outcome, place: number): void;
}

/**
 * Returns the plan for the files. Files below `separateFolders` have a process each. The others
 * share one by folder, so that their imports are read once, and start first: they take longest.
 */
export function planned(files: readonly string[]): Plan {
  const alone = files.filter((file) => separateFolders.some((folder) => file.startsWith(folder)));
  alone.sort((a, b) => rank(a) - rank(b));
  const shared = Map.groupBy(
    files.filter((file) => !alone.includes(file)),
    (file) => file.split("/").slice(0, -1).slice(0, 2).join("/"),
  );
  const groups = [
    ...[...shared].flatMap(([folder, group]) =>
      inGroups(group, folder === "test/console" ? consoleTogetherMax : togetherMax),
    ),
    ...alone.map((file) => [file]),
  ];
  const waits = ([first = ""]: readonly string[]) =>
    waitingPlaces.findIndex((place) => first.startsWith(place));
  return {
    working: groups.filter((group) => waits(group) < 0),
    waiting: groups.filter((group) => waits(group) >= 0).sort((a, b) => waits(a) - waits(b)),
  };
}

/**
 * Runs every group, as many at once as asked: those that wait beside those that work, so that no
 * core is idle, and afterwards whatever is left. Groups the end came before have an outcome too:
 * all files missing.
 */
export async function runPlan(plan: Plan, options: RunOptions): Promise<readonly Outcome[]> {
  const { processes, waiting: besides, end } = options;
  const outcomes: Outcome[] = [];
  const working = plan.working.entries();
  const waiting = plan.waiting.entries();
  const worker = async (kind: keyof Plan) => {
    for (const [index, files] of kind === "working" ? working : waiting) {
      const name = `${kind}-${index}`;
      const outcome = end.aborted ? notRun(files) : await runGroup(files, name, options);
      outcomes.push(outcome);
      options.ended(outcome, outcomes.length);
    }
  };
  await Promise.all([
    ...Array.from({ length: processes }, () => worker("working").then(() => worker("waiting"))),
    ...Array.from({ length: besides }, () => worker("waiting")),
  ]);
  return outcomes;
}

async function runGroup(
  files: readonly string[],
  name: string,
  { root, scratch, end, coverage }: RunOptions,
): Promise<Outcome> {
  const started = performance.now();
  const own = join(scratch, name);
  const logs = join(own, "logs");
  mkdirSync(logs, { recursive: true });
  // Servers that refuse to run as root run as another user and must be able to pass through.
  for (const folder of [scratch, own]) chmodSync(folder, 0o711);
  const report = join(own, "report.xml");
  const child = Bun.spawn(
    [process.execPath, "test", "--only-failures", "--timeout=120000", "--reporter=junit"].concat(
      `--reporter-outfile=${report}`,
      files.map((file) => `./${file}`),
    ),
    {
      cwd: root,
      env: {
        ...process.env,
        ...runtimeOptions,
        TMPDIR: own,
        PKID_TEST_LOGS: logs,
        PKID_TEST_SHARED: scratch,
        ...(coverage !== undefined && isCovered(files) ? { [coverageVariable]: coverage } : {}),
      },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      // A group of its own, so that the servers of a test that hangs end with it.
      detached: true,
    },
  );
  const kill = () => killGroup(child.pid);
  const timer = setTimeout(kill, groupSecondsMax * 1000);
  end.addEventListener("abort", kill);
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  const status = await child.exited;
  clearTimeout(timer);
  end.removeEventListener("abort", kill);
  const seconds = (performance.now() - started) / 1000;
  const text = existsSync(report) ? readFileSync(report, "utf8") : "";
  const outcome = outcomeOf(files, text, status, (file) => readFileSync(join(root, file), "utf8"));
  const isGood = outcome.failed === 0 && outcome.missing.length === 0;
  const output = stdout + stderr + (isGood ? "" : readLogEnds(logs));
  rmSync(own, { recursive: true, force: true });
  const processorSeconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000_000;
  return { ...outcome, seconds, processorSeconds, output };
}

/** True if the files share a process whose branches are counted. */
const isCovered = ([first = ""]: readonly string[]): boolean =>
  coveredFolders.some((folder) => first.startsWith(folder));

/** Returns the last lines of each log in the folder, under the name of the test that started it. */
function readLogEnds(folder: string): string {
  return readdirSync(folder)
    .sort()
    .slice(-logsMax)
    .map((name) => {
      const lines = readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
      return `-- log of ${name.replaceAll("+", "/")}\n${lines.slice(-logLinesMax).join("\n")}\n`;
    })
    .join("");
}

/**
 * Reads the runner's report. A status that is bad without a failed test is a failure of its own.
 * `source` gives the text of a test file.
 */
function outcomeOf(
  files: readonly string[],
  report: string,
  status: number,
  source: (file: string) => string,
): Omit<Outcome, "seconds" | "processorSeconds" | "output"> {
  const totals = /<testsuites [^>]*>/.exec(report)?.[0];
  if (totals === undefined) return notRun(files);
  const count = (name: string) => Number(new RegExp(` ${name}="(\\d+)"`).exec(totals)?.[1] ?? 0);
  const failures = failedTests(report);
  const unexplained = status !== 0 && count("failures") === 0;
  if (unexplained) failures.push(`${files[0]}: the test runner ended with status ${status}`);
  return {
    files,
    passed: count("tests") - count("failures") - count("skipped"),
    failed: count("failures") + (unexplained ? 1 : 0),
    skipped: count("skipped"),
    failures,
    skips: skippedTests(report, source),
    missing: [],
    fileSeconds: parseFileSeconds(report),
  };
}

/** Returns the wall time of each file: the suites whose name is that of their file. */
function parseFileSeconds(report: string): Map<string, number> {
  const suites = report.matchAll(/<testsuite name="([^"]+)" file="\1"[^>]* time="([\d.]+)"/g);
  return new Map(Array.from(suites, ([, file = "", time]) => [file, Number(time)]));
}

/** Why stands beside the name, since of a long run often nothing but its end is kept. */
const failedTests = (report: string): string[] =>
  cases(report, "failure").map(({ file, name, why }) => {
    const line = new RegExp(`at (?:.*\\W)?${RegExp.escape(file)}:(\\d+)`).exec(why)?.[1];
    const [what = ""] = why.split(/\n\s+at /);
    const short = what.replace(/\s+/g, " ").trim().slice(0, whyMax);
    return `${file}: ${name} (${[short, ...(line ? [`line ${line}`] : [])].join(", ")})`;
  });

/** A condition stands where the tests do, and says in its words what is missing. */
function skippedTests(report: string, source: (file: string) => string): string[] {
  const byFile = Map.groupBy(cases(report, "skipped"), ({ file }) => file);
  return Array.from(byFile, ([file, all]) => {
    const found = source(file).matchAll(/\.(skipIf|if|skip|todo)\((.*?)\)(?=[("`.;,\n]|$)/gm);
    const conditions = Array.from(found, ([, how, what]) =>
      how === "skipIf" || how === "if" ? `${how}(${what})` : `${how}`,
    );
    const why = [...new Set(conditions)].join(", ");
    return `${file}: ${all.length} by ${why === "" ? "what they share with others" : why}`;
  });
}

function cases(report: string, ended: "failure" | "skipped") {
  const found = report.matchAll(
    new RegExp(`<testcase ([^>]*[^/])>\\s*<${ended}([^>]*)>([^<]*)`, "g"),
  );
  return Array.from(found, ([, test = "", end = "", text = ""]) => {
    const value = (attributes: string, name: string) =>
      unescaped(new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "");
    // A test that took too long has no text, only a message.
    const why = text.trim() === "" ? value(end, "message") : unescaped(text);
    return { file: value(test, "file"), name: value(test, "name"), why };
  });
}

function unescaped(text: string): string {
  return text
    .replaceAll("&#10;", "\n")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'")
    .replaceAll("&amp;", "&");
}

const notRun = (files: readonly string[]): Outcome => ({
  files,
  passed: 0,
  failed: 0,
  skipped: 0,
  failures: [],
  skips: [],
  missing: files,
  fileSeconds: new Map(),
  seconds: 0,
  processorSeconds: 0,
  output: "",
});

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}

function inGroups<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

const rank = (file: string) => separateFolders.findIndex((folder) => file.startsWith(folder));

/**
 * Files, and folders of files that share a process, that wait for clients, clocks and silences at
 * least as long as they work, as `scripts/run-tests.ts` tells; longest first.
 */
export const waitingPlaces: readonly string[] = [
  "test/adapters/",
  "test/end-to-end/acme-clients.test.ts",
  // Each of its files waits for a browser half of the time.
  "test/console/",
  "test/http/",
  "test/end-to-end/upgrade-restart.test.ts",
  "test/end-to-end/acme-replacement.test.ts",
  "test/end-to-end/softhsm.test.ts",
  "test/security/guessing.test.ts",
  "test/end-to-end/secret-sources.test.ts",
  "test/end-to-end/event-stream.test.ts",
  "test/end-to-end/silent-database.test.ts",
  "test/end-to-end/acme-clock.test.ts",
  "test/security/wire.test.ts",
  "test/end-to-end/acme-pace.test.ts",
  "test/end-to-end/acme-crash.test.ts",
  "test/end-to-end/outputs.test.ts",
  "test/end-to-end/audit-export.test.ts",
  "test/end-to-end/certificate-files.test.ts",
];

/** Folders of files that start servers or browsers, in the order in which they start. */
const separateFolders = ["test/long/", "test/end-to-end/", "test/security/"] as const;
/** Folders whose tests count the branches of core and domain. */
const coveredFolders = ["test/core/", "test/domain/"] as const;
/** Files that share a process. */
const togetherMax = 40;
/** Files of the console that share a process and its browser; few, to run groups in parallel. */
const consoleTogetherMax = 8;
/**
 * Options of the runtime for test processes, which end before its slowest compiler pays off. A long
 * run repeats its code often enough. The preload removes them for the programs that tests start.
 */
const runtimeOptions: Readonly<Record<string, string>> =
  process.env.PKID_TEST_LONG === undefined ? { BUN_JSC_useFTLJIT: "0" } : {};
/** Characters of the error that is printed next to the name of a failed test. */
const whyMax = 400;
/** Logs, and lines of each, that are printed when a test failed. */
const logsMax = 8;
const logLinesMax = 40;
/** Seconds after which a group of files is stopped, so that a hung one does not use up the run. */
const groupSecondsMax = process.env.PKID_TEST_LONG === undefined ? 600 : 14_400;
