/** Reads from git: subjects of commits, and lines that differ from the last baseline. */

/** One commit. */
export interface Commit {
  /** Abbreviated hash. */
  readonly id: string;
  readonly subject: string;
}

/** Lists the commits after one, without merges; undefined if git or that commit is missing. */
export function listCommits(root: string, after: string): Commit[] | undefined {
  const output = runGit(root, ["log", "--no-merges", "--format=%h%x09%s", `${after}..HEAD`]);
  return output
    ?.split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [id = "", subject = ""] = line.split("\t");
      return { id, subject };
    });
}

/**
 * Finds the lines that differ from the commit that last changed the file, as `path:line`. Files
 * that git does not track are not included.
 */
export function findChangedLines(root: string, file: string): ReadonlySet<string> {
  const changed = new Set<string>();
  const base = runGit(root, ["log", "-1", "--format=%H", "--", file])?.trim();
  if (base === undefined || base === "") return changed;
  const diff = runGit(root, ["diff", "--unified=0", "--no-color", "--no-ext-diff", base]) ?? "";
  let path = "";
  for (const line of diff.split("\n")) {
    if (line.startsWith("+++ ")) path = line.replace(/^\+\+\+ (b\/)?/, "");
    const range = /^@@ \S+ \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (range === null) continue;
    const first = Number(range[1]);
    const count = Number(range[2] ?? "1");
    for (let number = first; number < first + count; number++) changed.add(`${path}:${number}`);
  }
  return changed;
}

function runGit(root: string, args: readonly string[]): string | undefined {
  try {
    const run = Bun.spawnSync(["git", "-C", root, ...args], { stderr: "ignore" });
    return run.success ? run.stdout.toString() : undefined;
  } catch {
    // No program of this name: an unpacked source archive may be checked without git.
    return undefined;
  }
}
