/** Branch coverage of a tiny tree: counted branches, and the comparison with committed figures. */

import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { instrumentBranches } from "#scripts/lib/branches.ts";
import { prepareCoverage, reportCoverage, writeFigures } from "#scripts/lib/coverage.ts";
import { coverageVariable, resolveCounters } from "#scripts/lib/coverage-folder.ts";
import { parseSyntax } from "#scripts/lib/source-tree.ts";

const home = mkdtempSync(join(tmpdir(), "pkid-coverage-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const sign = `/** Signs. */
export const sign = (n: number): string => (n < 0 ? "-" : n > 0 ? "+" : "0");
export function fail(): never {
  throw new Error("on line 4");
}
`;
const clamp = `/** Clamps. */
export function clamp(n: number, max = 9): number {
  if (n > max) return max;
  return n;
}
`;
const everyBranch = ["sign(-1)", "sign(0)", "sign(1)", "clamp(99)", "clamp(1, 2)"];

test("a branch that no test process takes is counted as uncovered", async () => {
  const tree = createTree("missing");
  const one = await measure(tree, [["sign(-1)", "clamp(99)"]]);
  // Core: 1 of 4 branches. Domain: the default and the `if`, not its missing `else`.
  expect(reportCoverage(one).lines[0]).toBe(
    "branches: core 25.0 % (1 of 4), domain 66.6 % (2 of 3)",
  );
  const two = await measure(tree, [
    ["sign(-1)", "sign(0)", "clamp(99)"],
    ["sign(1)", "clamp(1)"],
  ]);
  expect(reportCoverage(two).lines[0]).toBe(
    "branches: core 100.0 % (4 of 4), domain 100.0 % (3 of 3)",
  );
});

test("a file that no test process loads counts with all its branches", async () => {
  const folder = await measure(createTree("unloaded"), []);
  expect(reportCoverage(folder).lines[0]).toBe(
    "branches: core 0.0 % (0 of 4), domain 0.0 % (0 of 3)",
  );
});

test("a drop below the committed figure fails and names the file with its lines", async () => {
  const tree = createTree("drop");
  writeFigures(await measure(tree, [everyBranch]));
  const same = reportCoverage(await measure(tree, [everyBranch]));
  expect(same.failed).toBe(false);
  expect(same.lines).toHaveLength(1);

  const dropped = reportCoverage(await measure(tree, [everyBranch.slice(0, -1)]));
  expect(dropped.failed).toBe(true);
  expect(dropped.lines.slice(1)).toEqual([
    "Coverage of domain is below the committed 100.0 %.\n" +
      "  src/domain/clamp.ts: 1 more uncovered (uncovered lines: 3)",
  ]);
});

test("a rise passes and prints the command that writes the figure", async () => {
  const tree = createTree("rise");
  writeFigures(await measure(tree, [["sign(-1)", "clamp(1)"]]));
  const folder = await measure(tree, [everyBranch]);
  const { lines, failed } = reportCoverage(folder);
  expect(failed).toBe(false);
  expect(lines.slice(1)).toEqual([
    "Coverage is above the committed figure of core (25.0 %) and domain (66.6 %).",
    "Write the new figure with: bun scripts/coverage.ts --write",
  ]);
  writeFigures(folder);
  expect(reportCoverage(folder).lines).toHaveLength(1);
});

test("the committed figures never fall when they are written", async () => {
  const tree = createTree("ratchet");
  writeFigures(await measure(tree, [["sign(-1)", "clamp(99)", "clamp(1)"]]));
  const mixed = await measure(tree, [["sign(-1)", "sign(0)", "clamp(99)"]]);
  writeFigures(mixed);
  expect(readPercent(tree)).toEqual({ core: 75, domain: 100 });
  const { lines, failed } = reportCoverage(mixed);
  expect(failed).toBe(true);
  expect(lines[1]).toContain("src/domain/clamp.ts: 1 more uncovered");
});

test("an instrumented file keeps the lines of its stack traces", async () => {
  const folder = await measure(createTree("lines"), []);
  const { stderr } = await runCalls(folder, "lines", ["fail()"]);
  expect(stderr).toContain("on line 4");
  expect(stderr).toMatch(/src\/core\/sign\.ts:4:\d+/);
});

/** Statements, and the same with `#n` for the counter of branch n. */
const statements: readonly (readonly [string, string])[] = [
  ["if (a) b();", "if (a) {#1;b();} else {#0;}"],
  ["if (a) { b(); } else { c(); }", "if (a) {#1; b(); } else {#0; c(); }"],
  ["if (a) b(); else if (c) d()", "if (a) {#1;b();} else {#0;if (c) {#3;d()} else {#2;}}"],
  ["if (a) if (b) c()", "if (a) {#1;if (b) {#3;c()} else {#2;}} else {#0;}"],
  ["a ? b : c ? d : e;", "a ? (#0, b) : (#1, c ? (#2, d) : (#3, e));"],
  ["a && b || c;", "a && (#1, b) || (#0, c);"],
  ["a ?? (b && c);", "a ?? (#0, (b && (#1, c)));"],
  ["a ??= b; a ||= b; a &&= b;", "a ??= (#0, b); a ||= (#1, b); a &&= (#2, b);"],
  ["switch (a) { case 1: case 2: b(); }", "switch (a) { case 1:#0; case 2: #1;b(); }"],
  ["switch (a) { default: { b(); } }", "switch (a) { default: #0;{ b(); } }"],
  ["function f(a = b) {}", "function f(a = (#0, b)) {}"],
  ["const { a = b, c: [d = 1] } = e;", "const { a = (#0, b), c: [d = (#1, 1)] } = e;"],
  ['"ü🔑"; a ? b /* , */ : c // ;', '"ü🔑"; a ? (#0, b) /* , */ : (#1, c) // ;'],
];

test("every kind of branch has its counter", async () => {
  const tree = join(home, "kinds");
  for (const [index, [source]] of statements.entries()) {
    write(join(tree, "src/core", `${index}.ts`), source);
  }
  const instrumented = (await parseSyntax(tree, tree, ["src/core"])).map((file) => [
    file.text,
    instrumentBranches(file)
      .text.replace(/^const __branches = .*?; /, "")
      .replace(/__branches\[(\d+)\] = 1/g, "#$1"),
  ]);
  expect(instrumented.toSorted()).toEqual(statements.map((each) => [...each]).toSorted());
});

/** Creates a tree with one file per area and without committed figures. */
function createTree(name: string): string {
  const tree = join(home, name);
  write(join(tree, "src/core/sign.ts"), sign);
  write(join(tree, "src/domain/clamp.ts"), clamp);
  mkdirSync(join(tree, "scripts"));
  return tree;
}

/** Runs one process for each list of calls and returns the folder with their counters. */
async function measure(tree: string, processes: readonly (readonly string[])[]): Promise<string> {
  const folder = mkdtempSync(join(home, "run-"));
  await prepareCoverage(tree, folder);
  for (const calls of processes) {
    const { status, stderr } = await runCalls(folder, tree.slice(home.length + 1), calls);
    if (status !== 0) throw new Error(stderr);
  }
  const written = new Bun.Glob("*.json").scanSync(resolveCounters(folder));
  expect([...written]).toHaveLength(processes.length);
  return folder;
}

async function runCalls(folder: string, name: string, calls: readonly string[]) {
  const script = [
    `import { test } from "bun:test";`,
    `import { fail, sign } from "./src/core/sign.ts";`,
    `import { clamp } from "./src/domain/clamp.ts";`,
    `test("the calls return", () => {`,
    ...calls.map((call) => `  ${call};`),
    "});",
  ];
  writeFileSync(join(home, name, "calls.test.ts"), script.join("\n"));
  const preload = join(import.meta.dir, "../support/preload.ts");
  const child = Bun.spawn([process.execPath, "test", "--preload", preload, "./calls.test.ts"], {
    cwd: join(home, name),
    env: { ...process.env, [coverageVariable]: folder },
    stdout: "ignore",
    stderr: "pipe",
  });
  const stderr = await new Response(child.stderr).text();
  return { status: await child.exited, stderr };
}

function readPercent(tree: string): unknown {
  const file = join(tree, "scripts/coverage.json");
  expect(existsSync(file)).toBe(true);
  const figures: unknown = JSON.parse(readFileSync(file, "utf8"));
  return figures !== null && typeof figures === "object" && "percent" in figures
    ? figures.percent
    : undefined;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
