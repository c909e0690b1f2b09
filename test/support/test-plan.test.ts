/** The runner of the tests keeps what ran, and names what failed or never ended. */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "bun:test";

import {
  type Groups,
  type Outcome,
  type Plan,
  planned,
  runPlan,
  waitingPlaces,
} from "#scripts/lib/test-plan.ts";

let root = "";
let scratch = "";

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "plan-"));
  scratch = join(root, "scratch");
  mkdirSync(scratch);
  const file = (name: string, body: string) =>
    writeFileSync(join(root, name), `import { expect, test } from "bun:test";\n${body}\n`);
  file("good.test.ts", 'test("adds", () => expect(1 + 1).toBe(2)); test.skip("later", () => {});');
  file(
    "lacks.test.ts",
    'const there = Bun.which("no-such-program");\ntest.skipIf(there === null)("x", () => {});\ntest.skipIf(there === null)("y", () => {}); test("z", () => {});',
  );
  file(
    "bad.test.ts",
    'test("a < b & \\"c\\"", () => { expect(1).toBe(2); }); test("fine", () => {});',
  );
  file("slow.test.ts", 'test("waits", () => Bun.sleep(60_000), 1);');
  file("hangs.test.ts", 'test("for ever", () => { for (;;) {} });');
  // Each of the two ends only while the other runs.
  const meets = (own: string, other: string) =>
    `import { existsSync, writeFileSync } from "node:fs";
test("meets", async () => {
  writeFileSync(${JSON.stringify(join(root, own))}, "");
  while (!existsSync(${JSON.stringify(join(root, other))})) await Bun.sleep(5);
}, 30_000);`;
  file("works.test.ts", meets("worker", "waiter"));
  file("waits.test.ts", meets("waiter", "worker"));
  const logs = (expected: number) => `import { writeFileSync } from "node:fs";
test("logs", () => {
  const lines = Array.from({ length: 50 }, (_, index) => "line " + (index + 1) + "\\n");
  writeFileSync(process.env.PKID_TEST_LOGS + "/test+some.test.ts 1", lines.join(""));
  expect(1).toBe(${expected});
});`;
  file("logs-bad.test.ts", logs(2));
  file("logs-good.test.ts", logs(1));
  file("dies.test.ts", 'test("ends the process", () => process.exit(0));');
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

const run = (working: Groups, processes: number, endAfter?: number) =>
  runWhole({ working, waiting: [] }, { processes, waiting: 0 }, endAfter);

async function runWhole(
  plan: Plan,
  places: { readonly processes: number; readonly waiting: number },
  endAfter?: number,
) {
  const end = new AbortController();
  const ended: Outcome[] = [];
  const outcomes = await runPlan(plan, {
    root,
    scratch,
    ...places,
    end: end.signal,
    ended: (outcome, place) => {
      ended.push(outcome);
      if (place === endAfter) end.abort();
    },
  });
  expect(ended).toEqual([...outcomes]);
  return outcomes;
}

test("a run that is ended keeps the results it has and names the files without one", async () => {
  const outcomes = await run([["hangs.test.ts"], ["bad.test.ts"], ["good.test.ts"]], 2, 1);
  const of = (file: string) => outcomes.find(({ files }) => files.includes(file));
  expect(of("bad.test.ts")).toMatchObject({ passed: 1, failed: 1, skipped: 0, missing: [] });
  expect(of("bad.test.ts")?.failures).toEqual([
    'bad.test.ts: a < b & "c" (AssertionError: expect(received).toBe(expected) Expected: 2 Received: 1, line 2)',
  ]);
  expect(of("hangs.test.ts")).toMatchObject({ passed: 0, missing: ["hangs.test.ts"] });
  // It waited, and the end came first.
  expect(of("good.test.ts")).toMatchObject({ passed: 0, missing: ["good.test.ts"] });
});

test("a test that took too long is said to have, beside its name", async () => {
  const [outcome] = await run([["slow.test.ts"]], 1);
  expect(outcome?.failures).toEqual(["slow.test.ts: waits (test timed out)"]);
});

test("what passed and what was skipped is counted, and nothing is left in the folder", async () => {
  const [outcome] = await run([["good.test.ts"]], 1);
  expect(outcome).toMatchObject({ passed: 1, failed: 0, skipped: 1, missing: [], failures: [] });
  expect(readdirSync(scratch)).toEqual([]);
});

test("what was skipped is named by its file, with the condition that was not met", async () => {
  const [lacks, good] = await run([["lacks.test.ts"], ["good.test.ts"]], 1);
  expect(lacks?.skips).toEqual(["lacks.test.ts: 2 by skipIf(there === null)"]);
  expect(good?.skips).toEqual(["good.test.ts: 1 by skip"]);
});

test("a file that ends the runner has no result, though the status says success", async () => {
  const [outcome] = await run([["dies.test.ts"]], 1);
  expect(outcome).toMatchObject({ passed: 0, missing: ["dies.test.ts"] });
});

test("what waits has places of its own, and those of what works when they are free", async () => {
  const plan = { working: [["works.test.ts"]], waiting: [["waits.test.ts"]] };
  const beside = await runWhole(plan, { processes: 1, waiting: 1 });
  expect(beside.map(({ passed, missing }) => [passed, missing])).toEqual([
    [1, []],
    [1, []],
  ]);
  const afterwards = { working: [["good.test.ts"]], waiting: [["lacks.test.ts"]] };
  const [first, second] = await runWhole(afterwards, { processes: 1, waiting: 0 });
  expect([first?.files, second?.files]).toEqual([["good.test.ts"], ["lacks.test.ts"]]);
});

test("of an outcome is told how long it took, and for how much of that it worked", async () => {
  const [outcome] = await run([["good.test.ts"]], 1);
  expect(outcome?.processorSeconds).toBeGreaterThan(0);
  expect(outcome?.seconds).toBeGreaterThan(0);
});

test("a plan starts groups of files by folder, then files that start servers alone", () => {
  const core = Array.from({ length: 42 }, (_, index) => `test/core/${index}.test.ts`);
  const pages = Array.from({ length: 9 }, (_, index) => `test/console/${index}.test.ts`);
  const waits = "test/end-to-end/acme-clients.test.ts";
  const others = [
    "test/tidy.test.ts",
    "test/rules.test.ts",
    "test/security/x.test.ts",
    "test/end-to-end/a.test.ts",
    "test/http/y.test.ts",
  ];
  const { working, waiting } = planned([...core, ...pages, ...others, waits]);
  expect(waiting.map((group) => group.length)).toEqual([1, 8, 1, 1]);
  expect([waiting[0], waiting[3]]).toEqual([[waits], ["test/http/y.test.ts"]]);
  expect(working.slice(0, 3).map((group) => group.length)).toEqual([40, 2, 2]);
  expect(working.slice(3)).toEqual([["test/end-to-end/a.test.ts"], ["test/security/x.test.ts"]]);
});

test("a failed test prints the ends of the logs that its servers wrote, a passed one none", async () => {
  const [failed] = await run([["logs-bad.test.ts"]], 1);
  expect(failed?.output).toContain("-- log of test/some.test.ts 1\nline 11\n");
  expect(failed?.output).toContain("line 50\n");
  expect(failed?.output).not.toContain("line 10\n");
  const [passed] = await run([["logs-good.test.ts"]], 1);
  expect(passed?.output).not.toContain("line");
});

test("an outcome has the wall time of each of its files", async () => {
  const [outcome] = await run([["good.test.ts", "lacks.test.ts"]], 1);
  expect([...(outcome?.fileSeconds.keys() ?? [])]).toEqual(["good.test.ts", "lacks.test.ts"]);
});

test("every Debian package has the command that shows it, its name and its reason", async () => {
  const table = await Bun.file(join(import.meta.dir, "../../scripts/debian-packages.tsv")).text();
  const [, ...rows] = table.trimEnd().split("\n");
  for (const row of rows) expect(row).toMatch(/^[\w./+-]+\t[a-z0-9.+-]+\t\S.* \S.*\.$/);
  expect(new Set(rows.map((row) => row.split("\t")[0])).size).toBe(rows.length);
});

test("every place that is said to wait is there, and said once", () => {
  const project = join(import.meta.dir, "..", "..");
  expect(waitingPlaces.filter((place) => !existsSync(join(project, place)))).toEqual([]);
  expect(new Set(waitingPlaces).size).toBe(waitingPlaces.length);
});
