/** Runs `bun scripts/vocabulary.ts` on small source trees: exit code, messages, baseline. */

import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { sampleTable } from "./samples.ts";

// Each run starts a compiler, on a machine that may be busy.
setDefaultTimeout(60_000);

const project = join(import.meta.dir, "../../..");
const baselinePath = "scripts/vocabulary-baseline.tsv";

/** Source tree in a temporary directory, with one legacy file that has three hits. */
class SampleTree {
  readonly root = mkdtempSync(join(tmpdir(), "pkid-vocabulary-"));

  constructor() {
    this.write("scripts/vocabulary.tsv", sampleTable);
    this.write("scripts/vocabulary/tsconfig.json", JSON.stringify(compilerSettings));
    this.write(
      "src/core/old.ts",
      "/** Reads the zork. */\nexport const readZork = (zork: 1) => zork;\n",
    );
    this.write(baselinePath, "commits-after\tHEAD\n");
    expect(this.run("--write")).toMatchObject({ exitCode: 0 });
  }

  write(path: string, text: string): void {
    mkdirSync(join(this.root, dirname(path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }

  readBaseline = (): string => readFileSync(join(this.root, baselinePath), "utf8");

  remove(): void {
    rmSync(this.root, { recursive: true });
  }

  run(...args: readonly string[]): { readonly exitCode: number; readonly output: string } {
    const script = join(project, "scripts/vocabulary.ts");
    return runProgram([process.execPath, script, "--root", this.root, ...args]);
  }

  /** Runs git without the configuration of the user. */
  git(...args: readonly string[]): string {
    const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"];
    const { exitCode, output } = runProgram(["git", "-C", this.root, ...identity, ...args]);
    expect(exitCode).toBe(0);
    return output.trim();
  }

  /** Creates a repository and makes its first commit the start of the checked commits. */
  createRepository(): void {
    this.git("init", "--quiet");
    this.git("commit", "--quiet", "--allow-empty", "--message=Let it begin.");
    const first = this.git("rev-parse", "HEAD");
    this.write(baselinePath, this.readBaseline().replace("\tHEAD\n", `\t${first}\n`));
    this.git("add", ".");
    this.git("commit", "--quiet", "--message=Add the tree");
  }
}

const compilerSettings = {
  compilerOptions: { noLib: true, types: [], allowImportingTsExtensions: true, noEmit: true },
  include: ["../../src", "../../web", "../../test", "../../scripts"],
};

function runProgram(command: readonly string[]): { exitCode: number; output: string } {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { env });
  return { exitCode, output: `${stdout}${stderr}` };
}

const trees: SampleTree[] = [];

function createTree(): SampleTree {
  const tree = new SampleTree();
  trees.push(tree);
  return tree;
}

afterEach(() => {
  for (const tree of trees.splice(0)) tree.remove();
});

describe("the baseline", () => {
  test("the first --write stores every count and the files with hits, sorted", () => {
    const tree = createTree();
    const lines = tree.readBaseline().split("\n");
    expect(lines.slice(0, 4)).toEqual([
      "# Hits of the vocabulary check. Written by `bun scripts/vocabulary.ts --write`.",
      "commits-after\tHEAD",
      "count\tsrc/core\t3\t\\b(zork|zorks)\\b",
      "file\tsrc/core/old.ts",
    ]);
    expect(lines.filter((line) => line.startsWith("rule\t"))).toHaveLength(15);
    expect(tree.run()).toMatchObject({ exitCode: 0 });
  });

  test("a new hit in an old file fails the check and is not written", () => {
    const tree = createTree();
    const before = tree.readBaseline();
    tree.write(
      "src/core/old.ts",
      "/** Reads the zork. */\nconst a = (zork: 1, zorkB: 2, zorkC: 3) => a;\n",
    );
    const { exitCode, output } = tree.run();
    expect(exitCode).toBe(1);
    expect(output).toContain("src/core: \\b(zork|zorks)\\b: 4 hits, at most 3:");
    expect(output).toContain("  src/core/old.ts:2 zork -> use: value");
    expect(tree.run("--write")).toMatchObject({ exitCode: 1 });
    expect(tree.readBaseline()).toBe(before);
  });

  test("fewer hits must be written, and cannot rise again", () => {
    const tree = createTree();
    tree.write("src/core/old.ts", "/** Reads the zork. */\nexport const readValue = () => 1;\n");
    const { exitCode, output } = tree.run();
    expect(exitCode).toBe(1);
    expect(output).toContain("bun scripts/vocabulary.ts --write");
    expect(tree.run("--write")).toMatchObject({ exitCode: 0 });
    expect(tree.readBaseline()).toContain("count\tsrc/core\t1\t");
    expect(tree.run()).toMatchObject({ exitCode: 0 });
    tree.write("src/core/old.ts", "/** Reads the zork. */\nexport const readZork = () => 1;\n");
    expect(tree.run("--write")).toMatchObject({ exitCode: 1 });
  });

  test("a new file with a hit fails the check even if the count of its area is unchanged", () => {
    const tree = createTree();
    tree.write("src/core/old.ts", "/** Reads. */\nexport const readZork = (zork: 1) => zork;\n");
    tree.write("src/core/new.ts", "/** Reads the zork. */\nexport const a = 1;\n");
    const { exitCode, output } = tree.run("--write");
    expect(exitCode).toBe(1);
    expect(output).toContain(
      "src/core/new.ts is not in the baseline and must have no hit; it has 1",
    );
    expect(output).not.toContain("at most");
  });

  test("a new file without hits needs no write, and a removed file needs one", () => {
    const tree = createTree();
    tree.write("src/core/new.ts", "/** Reads the value. */\nexport const a = 1;\n");
    expect(tree.run()).toMatchObject({ exitCode: 0 });
    rmSync(join(tree.root, "src/core/old.ts"));
    expect(tree.run()).toMatchObject({ exitCode: 1 });
    expect(tree.run("--write")).toMatchObject({ exitCode: 0 });
    expect(tree.readBaseline()).not.toContain("file\t");
    expect(tree.readBaseline()).not.toContain("count\t");
  });

  test("a new row of the table comes with its counts, also in files without hits so far", () => {
    const tree = createTree();
    tree.write("src/core/new.ts", "/** Reads the value. */\nexport const a = 1;\n");
    tree.write("scripts/vocabulary.tsv", `${sampleTable}\n\\bvalue\\b\tprose\tdata\t\n`);
    expect(tree.run()).toMatchObject({ exitCode: 1 });
    expect(tree.run("--write")).toMatchObject({ exitCode: 0 });
    expect(tree.readBaseline()).toContain("count\tsrc/core\t1\t\\bvalue\\b");
    expect(tree.readBaseline()).toContain("file\tsrc/core/new.ts");
  });

  test("a conflict marker in the baseline is an error", () => {
    const tree = createTree();
    tree.write(baselinePath, `<<<<<<< HEAD\n${tree.readBaseline()}`);
    const { exitCode, output } = tree.run();
    expect(exitCode).not.toBe(0);
    expect(output).toContain("<<<<<<< HEAD");
  });
});

describe("planted violations", () => {
  test("a planted participle fails the check with its line", () => {
    const tree = createTree();
    tree.write("src/http/planted.ts", "/** Reads. */\nexport function signed() {}\n");
    const { exitCode, output } = tree.run();
    expect(exitCode).toBe(1);
    expect(output).toContain("src/http/planted.ts:2 signed -> use: a verb and its object");
  });

  test("a planted table term fails the check with its line", () => {
    const tree = createTree();
    tree.write("README.md", "Start pkid.\n\nThe zork is set.\n");
    const { exitCode, output } = tree.run();
    expect(exitCode).toBe(1);
    expect(output).toContain("README.md:3 zork -> use: value");
  });

  test("a planted commit subject fails the check, and a merge commit does not", () => {
    const tree = createTree();
    tree.createRepository();
    expect(tree.run()).toMatchObject({ exitCode: 0 });
    tree.git("checkout", "--quiet", "-b", "side");
    tree.git("commit", "--quiet", "--allow-empty", "--message=Fix the tree");
    tree.git("checkout", "--quiet", "-");
    tree.git("merge", "--quiet", "--no-ff", "--message=Let the branch in.", "side");
    expect(tree.run()).toMatchObject({ exitCode: 0 });
    tree.git("commit", "--quiet", "--allow-empty", "--message=Let long deltas rest");
    const { exitCode, output } = tree.run();
    expect(exitCode).toBe(1);
    expect(output).toContain('"Let long deltas rest" -> start with an exact verb');
    expect(output).not.toContain("Let it begin");
  });

  test("the report lists the hits on changed lines only, if git shows some", () => {
    const tree = createTree();
    tree.createRepository();
    const old = readFileSync(join(tree.root, "src/core/old.ts"), "utf8");
    tree.write("src/core/old.ts", `${old}export const plantedZork = 1;\n`);
    const { output } = tree.run();
    expect(output).toContain("src/core/old.ts:3 zork");
    expect(output).not.toContain("src/core/old.ts:1");
  });
});

test("the check notes that it skips commit subjects if the start commit is unavailable", () => {
  const tree = createTree();
  tree.write(baselinePath, tree.readBaseline().replace("\tHEAD\n", `\t${"0".repeat(40)}\n`));
  expect(existsSync(join(tree.root, ".git"))).toBe(false);
  const { exitCode, output } = tree.run();
  expect(exitCode).toBe(0);
  expect(output).toContain("no commit subject is checked");
});

test("--list prints the hits of a folder, and --help the options", () => {
  const tree = createTree();
  expect(tree.run("--list", "src/core").output.split("\n")).toContain(
    "src/core/old.ts:1 zork -> use: value",
  );
  expect(tree.run("--list", "src/http").output).toBe("");
  expect(tree.run("--help")).toMatchObject({ exitCode: 0 });
  expect(tree.run("--help").output).toContain("--write");
});
