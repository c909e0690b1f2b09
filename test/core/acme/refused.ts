/** What a pure reader of ACME refuses. */

import { expect } from "bun:test";

import { Problem } from "#core/problems.ts";

/** The code and facts of the refusal that the work throws. */
export function refusedBy(work: () => unknown): Pick<Problem, "code" | "facts"> {
  try {
    work();
  } catch (error) {
    if (error instanceof Problem) return { code: error.code, facts: error.facts };
    throw error;
  }
  return expect.unreachable("nothing was refused");
}

/** The code alone. */
export const codeOf = (work: () => unknown): string => refusedBy(work).code;
