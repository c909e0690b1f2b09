/**
 * Parses our own source with the TypeScript compiler, so that the rules on it look at syntax and
 * not at text.
 */

import { readdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Node, SourceFile } from "typescript/unstable/ast";
import { API } from "typescript/unstable/async";

/** One parsed file; `path` is relative to the root of the tree, with forward slashes. */
export interface Parsed {
  readonly path: string;
  readonly text: string;
  readonly ast: SourceFile;
}

/** Something a rule objects to: where, and one sentence. */
export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly sentence: string;
}

/**
 * Parses every `.ts` and `.tsx` file below the folders.
 *
 * @param root absolute path that file paths are given relative to
 * @param project absolute path of the tsconfig.json that includes those folders
 */
export async function parseTree(
  root: string,
  project: string,
  folders: readonly string[],
): Promise<Parsed[]> {
  const compiler = new API({ cwd: root });
  try {
    const snapshot = await compiler.updateSnapshot({ openProjects: [project] });
    const program = snapshot.getProject(project)?.program;
    if (!program) throw new Error(`${project} cannot be opened.`);
    const load = async (path: string): Promise<Parsed> => {
      const ast = await program.getSourceFile(join(root, path));
      if (!ast) throw new Error(`${path} is not part of ${project}.`);
      return { path, text: ast.text, ast };
    };
    const paths = folders.flatMap((folder) => sourceFiles(root, folder));
    const files: Parsed[] = [];
    // The compiler encodes the next file of a batch while this process decodes the previous one.
    for (let start = 0; start < paths.length; start += batchSize) {
      files.push(...(await Promise.all(paths.slice(start, start + batchSize).map(load))));
    }
    return files;
  } finally {
    await compiler.close();
  }
}

/**
 * Parses every `.ts` and `.tsx` file below the folders without types and imports, in a fraction of
 * the time of `parseTree`.
 *
 * @param scratch absolute path of an existing folder for the project file of the parser
 */
export async function parseSyntax(
  root: string,
  scratch: string,
  folders: readonly string[],
): Promise<Parsed[]> {
  const project = join(scratch, "tsconfig.json");
  const include = folders.map((folder) => join(root, folder));
  const compilerOptions = { noResolve: true, noLib: true, types: [], module: "Preserve" };
  writeFileSync(project, JSON.stringify({ compilerOptions, include }));
  return await parseTree(root, project, folders);
}

/** Visits the node and everything below it, parents first. */
export function visit(node: Node, each: (node: Node) => void): void {
  each(node);
  node.forEachChild((child) => {
    visit(child, each);
  });
}

/** The line, counted from 1, on which the node's own text starts. */
export function lineOf(file: Parsed, node: Node): number {
  return file.ast.getLineAndCharacterOfPosition(node.getStart(file.ast)).line + 1;
}

/** One finding as people and editors read it: `path:line sentence`. */
export const rendered = (finding: Finding): string =>
  `${finding.path}:${finding.line} ${finding.sentence}`;

const batchSize = 64;

function sourceFiles(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .sort();
}
