/** Layout of the folder of a coverage run, shared by the test processes and the report. */

import { join } from "node:path";

/** Environment variable with the absolute path of the folder. */
export const coverageVariable = "PKID_COVERAGE";

/** Name of the global function that an instrumented file calls for its array of counters. */
export const registerName = "__pkidBranches";

/** Content of the index file, written before the first test starts. */
export interface CoverageIndex {
  /** Absolute path of the source tree. */
  readonly root: string;
  /** Lines of the branches by file; paths are relative to `root`, with forward slashes. */
  readonly branches: Readonly<Record<string, readonly number[]>>;
}

/** Content of a file of counters: for each loaded file one digit per branch, `1` if covered. */
export type CoverageCounters = Readonly<Record<string, string>>;

/** Returns the path of the index file. */
export const resolveIndex = (folder: string): string => join(folder, "index.json");

/** Returns the path of the instrumented version of a source file. */
export const resolveInstrumentedFile = (folder: string, path: string): string =>
  join(folder, "instrumented", path);

/** Returns the folder with the counters of each process. */
export const resolveCounters = (folder: string): string => join(folder, "counters");
