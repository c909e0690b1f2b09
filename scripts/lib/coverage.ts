/**
 * Measures the branch coverage of `src/core` and `src/domain`, and compares it with the committed
 * figures.
 *
 * 1. `prepareCoverage` fills a folder with instrumented sources.
 * 2. Each `bun test` process with `PKID_COVERAGE=<folder>` adds its counters after its last test.
 * 3. `reportCoverage` adds the counters up.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { instrumentBranches } from "./branches.ts";
import {
  type CoverageCounters,
  type CoverageIndex,
  resolveCounters,
  resolveIndex,
  resolveInstrumentedFile,
} from "./coverage-folder.ts";
import { parseSyntax } from "./source-tree.ts";

/** Result of a comparison with the committed figures. */
export interface CoverageReport {
  /** Lines for the developer, without line ends. */
  readonly lines: readonly string[];
  /** True if an area is below its committed figure. */
  readonly failed: boolean;
}

type Area = (typeof areas)[number];

/** Committed figures: percent of covered branches, rounded down to a tenth. */
interface Figures {
  readonly percent: Readonly<Record<Area, number>>;
  /** Number of uncovered branches by file, to name the files that lost some. */
  readonly uncovered: Readonly<Record<string, number>>;
}

interface AreaCoverage {
  readonly area: Area;
  readonly covered: number;
  readonly total: number;
  /** Lines of the uncovered branches by file. */
  readonly uncovered: ReadonlyMap<string, readonly number[]>;
}

/**
 * Fills the folder with instrumented sources. Afterwards the folder must stay until the report.
 *
 * @param root absolute path of the tree with `src/core` and `src/domain`
 * @param folder absolute path of an empty folder, readable and writable by the test processes
 */
export async function prepareCoverage(root: string, folder: string): Promise<void> {
  const branches: Record<string, readonly number[]> = {};
  const folders = areas.map((area) => `src/${area}`);
  for (const file of await parseSyntax(root, folder, folders)) {
    const { lines, text } = instrumentBranches(file);
    const path = resolveInstrumentedFile(folder, file.path);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    branches[file.path] = lines;
  }
  mkdirSync(resolveCounters(folder));
  const index: CoverageIndex = { root, branches };
  writeFileSync(resolveIndex(folder), JSON.stringify(index));
}

/**
 * Compares the coverage of a run with the committed figures of its tree. Call it only if all tests
 * of `test/core` and `test/domain` ran.
 *
 * @param folder the folder given to `prepareCoverage`
 */
export function reportCoverage(folder: string): CoverageReport {
  const index = readIndex(folder);
  const figures = readFigures(index.root);
  const measured = measureCoverage(folder, index);
  const losses = measured.filter((each) => hasFallen(each, figures));
  const gains = measured.filter((each) => computePercent(each) > figures.percent[each.area]);
  const lines = [`branches: ${measured.map(formatCoverage).join(", ")}`];
  for (const each of losses) lines.push(formatLoss(each, figures));
  if (gains.length > 0) {
    const names = gains.map(({ area }) => `${area} (${formatPercent(figures.percent[area])})`);
    lines.push(`Coverage is above the committed figure of ${names.join(" and ")}.`);
    lines.push("Write the new figure with: bun scripts/coverage.ts --write");
  }
  return { lines, failed: losses.length > 0 };
}

/**
 * Writes the figures of a run that are not below the committed ones. An area that is below keeps
 * its figure.
 *
 * @param folder the folder given to `prepareCoverage`
 */
export function writeFigures(folder: string): void {
  const index = readIndex(folder);
  const figures = readFigures(index.root);
  const measured = measureCoverage(folder, index);
  const percent = { ...figures.percent };
  const uncovered = new Map(Object.entries(figures.uncovered));
  for (const each of measured) {
    if (computePercent(each) < percent[each.area]) continue;
    percent[each.area] = computePercent(each);
    for (const path of uncovered.keys()) {
      if (isInArea(path, each.area)) uncovered.delete(path);
    }
    for (const [path, lines] of each.uncovered) uncovered.set(path, lines.length);
  }
  const sorted = Object.fromEntries([...uncovered].sort(([a], [b]) => (a < b ? -1 : 1)));
  const written: Figures = { percent, uncovered: sorted };
  writeFileSync(join(index.root, figuresFile), `${JSON.stringify(written, null, 2)}\n`);
}

// `prepareCoverage` has written exactly this type.
const readIndex = (folder: string): CoverageIndex =>
  JSON.parse(readFileSync(resolveIndex(folder), "utf8")) as CoverageIndex;

/** Reads the committed figures. A tree without them has zeros, so that any coverage is a gain. */
function readFigures(root: string): Figures {
  const file = join(root, figuresFile);
  if (!existsSync(file)) return { percent: { core: 0, domain: 0 }, uncovered: {} };
  // The file is written by `writeFigures` only, or edited in a reviewed commit.
  return JSON.parse(readFileSync(file, "utf8")) as Figures;
}

function measureCoverage(folder: string, { branches }: CoverageIndex): readonly AreaCoverage[] {
  const covered = new Map<string, Set<number>>();
  for (const name of readdirSync(resolveCounters(folder))) {
    const text = readFileSync(join(resolveCounters(folder), name), "utf8");
    // Each process writes exactly this type after its last test.
    for (const [path, digits] of Object.entries(JSON.parse(text) as CoverageCounters)) {
      const indexes = covered.get(path) ?? new Set();
      for (const { index } of digits.matchAll(/1/g)) indexes.add(index);
      covered.set(path, indexes);
    }
  }
  return areas.map((area) => {
    const files = Object.entries(branches).filter(([path]) => isInArea(path, area));
    const total = files.reduce((sum, [, lines]) => sum + lines.length, 0);
    const uncovered = new Map<string, readonly number[]>();
    for (const [path, lines] of files) {
      const missing = lines.filter((_, branch) => !covered.get(path)?.has(branch));
      if (missing.length > 0) uncovered.set(path, missing);
    }
    const missed = [...uncovered.values()].reduce((sum, { length }) => sum + length, 0);
    return { area, covered: total - missed, total, uncovered };
  });
}

const isInArea = (path: string, area: Area): boolean => path.startsWith(`src/${area}/`);

const hasFallen = ({ area, covered, total }: AreaCoverage, { percent }: Figures): boolean =>
  (covered / total) * 100 < percent[area] - toleratedPoints;

/** Rounds down to a tenth, so that a single branch rarely changes the figure. */
const computePercent = ({ covered, total }: AreaCoverage): number =>
  Math.floor((covered / total) * 1000) / 10;

const formatPercent = (percent: number): string => `${percent.toFixed(1)} %`;

function formatCoverage(measured: AreaCoverage): string {
  const { area, covered, total } = measured;
  const counts = `${covered.toLocaleString("en-US")} of ${total.toLocaleString("en-US")}`;
  return `${area} ${formatPercent(computePercent(measured))} (${counts})`;
}

/** Names the files with the most branches that were covered at the time of the figure. */
function formatLoss(measured: AreaCoverage, figures: Figures): string {
  const files = Array.from(measured.uncovered, ([path, lines]) => {
    const loss = lines.length - (figures.uncovered[path] ?? 0);
    return { path, loss, lines };
  });
  const largest = files.filter(({ loss }) => loss > 0).sort((a, b) => b.loss - a.loss);
  const named = largest.slice(0, namedFilesMax).map(({ path, loss, lines }) => {
    const shown = [...new Set(lines)].slice(0, namedLinesMax).join(", ");
    return `\n  ${path}: ${loss} more uncovered (uncovered lines: ${shown})`;
  });
  const { area } = measured;
  const committed = formatPercent(figures.percent[area]);
  return `Coverage of ${area} is below the committed ${committed}.${named.join("")}`;
}

const areas = ["core", "domain"] as const;
const figuresFile = "scripts/coverage.json";
/**
 * Percentage points that a run may be below the committed figure: which branches of concurrent code
 * run depends on the scheduler.
 */
const toleratedPoints = 0.1;
const namedFilesMax = 5;
const namedLinesMax = 20;
