/** Formats the result of the check for the terminal. */

import type { CountChange } from "./baseline.ts";
import type { Hit } from "./hit.ts";

/** Formats one hit: `path:line found -> use: instead`. */
export const formatHit = ({ path, line, found, instead }: Hit): string =>
  `${path}:${line} ${found} -> use: ${instead}`;

/** Formats hits in files that must have none. */
export function formatNewFileHits(hits: readonly Hit[]): string[] {
  const groups = Map.groupBy(hits, ({ path }) => path);
  return [...groups].flatMap(([path, group]) => [
    `${path} is not in the baseline and must have no hit; it has ${group.length}:`,
    ...formatFirst(group),
  ]);
}

/**
 * Formats the counts that rose, each with hits.
 *
 * @param changedLines `path:line` of lines changed since the last baseline; if some hits of a
 *   count are on them, only those are listed
 */
export const formatRaisedCounts = (
  changes: readonly CountChange[],
  changedLines: ReadonlySet<string>,
): string[] =>
  changes.flatMap(({ area, rule, before, after, hits }) => {
    const changed = hits.filter(({ path, line }) => changedLines.has(`${path}:${line}`));
    return [
      `${area}: ${rule}: ${after} hits, at most ${before}:`,
      ...formatFirst(changed.length > 0 ? changed : hits),
    ];
  });

function formatFirst(hits: readonly Hit[]): string[] {
  const lines = hits.slice(0, hitsMax).map((hit) => `  ${formatHit(hit)}`);
  const rest = hits.length - lines.length;
  return rest > 0 ? [...lines, `  … and ${rest} more`] : lines;
}

const hitsMax = 10;
