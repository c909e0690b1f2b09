/** Committed counts of hits per rule and area, and the files that may have hits. */

import { findArea } from "./areas.ts";
import type { Hit } from "./hit.ts";

/** Content of the baseline file. */
export interface Baseline {
  /** Commit after which the subjects of commits are checked. */
  readonly commit: string;
  /** Patterns of rows and names of rules; a row that is not listed is new. */
  readonly rules: ReadonlySet<string>;
  /** Hits per area and rule, by `formatCountKey`; never 0. */
  readonly counts: ReadonlyMap<string, number>;
  /** Paths of files that may have hits. */
  readonly files: ReadonlySet<string>;
}

/** Hits of one rule in one area that differ from the baseline. */
export interface CountChange {
  readonly area: string;
  readonly rule: string;
  readonly before: number;
  readonly after: number;
  readonly hits: readonly Hit[];
}

/** Difference between the hits of the tree and the baseline. */
export interface Comparison {
  /** Counts of listed rules that rose in the listed files. */
  readonly raised: readonly CountChange[];
  /** Hits of listed rules in files that the baseline does not list. */
  readonly newFileHits: readonly Hit[];
  /** True if the file must be written: counts fell, or rows or files were added or removed. */
  readonly isOutdated: boolean;
  /** Baseline of the tree as it is. */
  readonly current: Baseline;
}

/** Key of a count: area and rule, joined by a tab. */
export const formatCountKey = (area: string, rule: string): string => `${area}\t${rule}`;

/**
 * Parses the file: one tab-separated record per line, so that changes in different areas merge.
 *
 * @throws {Error} if a line has another form, for example a conflict marker
 */
export function parseBaseline(text: string): Baseline {
  let commit = "";
  const rules = new Set<string>();
  const counts = new Map<string, number>();
  const files = new Set<string>();
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const [kind, first = "", second = "", third = ""] = line.split("\t");
    if (kind === "commits-after") commit = first;
    else if (kind === "rule") rules.add(first);
    else if (kind === "count") counts.set(formatCountKey(first, third), Number(second));
    else if (kind === "file") files.add(first);
    else throw new Error(`The vocabulary baseline has a line of no known form: ${line}`);
  }
  return { commit, rules, counts, files };
}

/** Formats the file; equal content has equal text. */
export function formatBaseline({ commit, rules, counts, files }: Baseline): string {
  const records = [...counts].sort(compareKeys).map(([key, count]) => {
    const [area = "", rule = ""] = key.split("\t");
    return `count\t${area}\t${count}\t${rule}`;
  });
  const lines = [
    "# Hits of the vocabulary check. Written by `bun scripts/vocabulary.ts --write`.",
    `commits-after\t${commit}`,
    ...records,
    ...[...files].sort().map((path) => `file\t${path}`),
    ...[...rules].sort().map((rule) => `rule\t${rule}`),
  ];
  return `${lines.join("\n")}\n`;
}

const compareKeys = ([a]: readonly [string, number], [b]: readonly [string, number]): number =>
  a < b ? -1 : 1;

/** Compares the hits of the tree with the baseline; `rules` are all rows and rules in use. */
export function compareHits(
  hits: readonly Hit[],
  rules: readonly string[],
  baseline: Baseline,
): Comparison {
  const findKey = ({ path, rule }: Hit): string => formatCountKey(findArea(path), rule);
  const isInNewFile = ({ path, rule }: Hit): boolean =>
    baseline.rules.has(rule) && !baseline.files.has(path);
  const newFileHits = hits.filter(isInNewFile);
  const raised: CountChange[] = [];
  const oldFileHits = hits.filter((hit) => baseline.rules.has(hit.rule) && !isInNewFile(hit));
  for (const [key, group] of Map.groupBy(oldFileHits, findKey)) {
    const [area = "", rule = ""] = key.split("\t");
    const before = baseline.counts.get(key) ?? 0;
    if (group.length <= before) continue;
    raised.push({ area, rule, before, after: group.length, hits: group });
  }
  const current: Baseline = {
    commit: baseline.commit,
    rules: new Set(rules),
    counts: new Map([...Map.groupBy(hits, findKey)].map(([key, group]) => [key, group.length])),
    files: new Set(hits.map(({ path }) => path)),
  };
  const isOutdated = formatBaseline(current) !== formatBaseline(baseline);
  return { raised, newFileHits, isOutdated, current };
}
