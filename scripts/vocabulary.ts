/** Checks names, comments, messages, test names and commits against the language guide. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { parseTree } from "./lib/source-tree.ts";
import { compareHits, formatBaseline, parseBaseline } from "./vocabulary/baseline.ts";
import { checkCommits } from "./vocabulary/commit-rules.ts";
import { findChangedLines, listCommits } from "./vocabulary/git.ts";
import { type Hit, ruleNames } from "./vocabulary/hit.ts";
import { collectMarkdownHits, collectSourceHits } from "./vocabulary/hits.ts";
import { formatHit, formatNewFileHits, formatRaisedCounts } from "./vocabulary/report.ts";
import { readSourceContent } from "./vocabulary/source-content.ts";
import { parseTable, TableMatcher } from "./vocabulary/table.ts";

const help = `Usage: bun scripts/vocabulary.ts [--write] [--list PATH] [--root DIRECTORY]

Checks names, comments, messages, test names and commits against the language guide.
The words to avoid are in scripts/vocabulary.tsv, the counts in scripts/vocabulary-baseline.tsv.
A count may only fall, and a file that the baseline does not list must have no hit.

  --write      Write lower counts, new rows and removed files to the baseline.
  --list       List the hits in files whose path starts with PATH. Checks nothing.
  --root       Check another source tree. [default: this one]
  --help       Print this help.
`;

const baselineFile = "scripts/vocabulary-baseline.tsv";

/** Outcome of the check: lines for standard error, and the exit code. */
interface CheckResult {
  readonly lines: readonly string[];
  readonly exitCode: 0 | 1;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      write: { type: "boolean", default: false },
      list: { type: "string" },
      root: { type: "string", default: join(import.meta.dir, "..") },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return 0;
  }
  const root = resolve(values.root);
  const rows = parseTable(readFileSync(join(root, "scripts/vocabulary.tsv"), "utf8"));
  const hits = await collectHits(root, new TableMatcher(rows));
  if (values.list !== undefined) {
    const prefix = values.list;
    for (const hit of hits.filter(({ path }) => path.startsWith(prefix))) {
      console.log(formatHit(hit));
    }
    return 0;
  }
  const rules = [...rows.map(({ pattern }) => pattern), ...ruleNames];
  const { lines, exitCode } = checkTree(root, hits, rules, values.write);
  for (const line of lines) console.error(line);
  return exitCode;
}

/** Collects the hits of all source files and documents of the tree. */
async function collectHits(root: string, matcher: TableMatcher): Promise<Hit[]> {
  const folders = ["src", "web", "test", "scripts"].filter((name) => existsSync(join(root, name)));
  const project = join(root, "scripts/vocabulary/tsconfig.json");
  const files = await parseTree(root, project, folders);
  const documents = listDocuments(root).flatMap((path) =>
    collectMarkdownHits(path, readFileSync(join(root, path), "utf8"), matcher),
  );
  return [...collectSourceHits(files.map(readSourceContent), matcher), ...documents];
}

/** Lists the Markdown files: the README and the documents of `src`. */
function listDocuments(root: string): string[] {
  const inSource = existsSync(join(root, "src"))
    ? readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
        .filter((path) => path.endsWith(".md"))
        .map((path) => `src/${path}`)
    : [];
  return ["README.md", ...inSource.sort()].filter((path) => existsSync(join(root, path)));
}

/** Compares the hits with the baseline, checks the commits, and writes the baseline on request. */
function checkTree(
  root: string,
  hits: readonly Hit[],
  rules: readonly string[],
  isWrite: boolean,
): CheckResult {
  const path = join(root, baselineFile);
  const baseline = parseBaseline(readFileSync(path, "utf8"));
  const { raised, newFileHits, isOutdated, current } = compareHits(hits, rules, baseline);
  const lines = formatNewFileHits(newFileHits);
  if (raised.length > 0) {
    lines.push(...formatRaisedCounts(raised, findChangedLines(root, baselineFile)));
  }
  if (lines.length > 0) {
    if (isWrite) lines.push(`${baselineFile} is unchanged: a count may only fall.`);
  } else if (isWrite) {
    writeFileSync(path, formatBaseline(current));
  } else if (isOutdated) {
    lines.push(
      `${baselineFile} has higher counts or other files than the tree. ` +
        "Run `bun scripts/vocabulary.ts --write` and commit the file with the change.",
    );
  }
  const commits = listCommits(root, baseline.commit);
  if (commits !== undefined) lines.push(...checkCommits(commits));
  const exitCode = lines.length === 0 ? 0 : 1;
  if (commits === undefined) {
    lines.push(`note: commit ${baseline.commit} is not available; no commit subject is checked.`);
  }
  lines.push(
    `vocabulary: ${hits.length} hits, ${exitCode === 0 ? "none" : "some"} beyond the baseline`,
  );
  return { lines, exitCode };
}

if (import.meta.main) process.exit(await main());
