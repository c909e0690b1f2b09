/** What preflight says of the people operations wait for. */

import { failed, type Finding, gathered, skipped, warned } from "./finding.ts";

/** One guarded class. */
export interface QuorumFacts {
  readonly name: string;
  /** Approvals it needs besides the maker. */
  readonly needed: number;
  /**
   * People who may give them, whoever the maker is; undefined where a directory says who they are.
   */
  readonly people: number | undefined;
}

/** Enough people for every class, and one to spare for whoever is away. */
export function judgeQuorum(classes: readonly QuorumFacts[]): Finding {
  if (classes.length === 0) return skipped("No operation waits for other people.");
  const findings = classes.flatMap(({ name, needed, people }) => {
    if (people === undefined || people > needed) return [];
    if (people === needed) return [warned(`${name} needs ${needed}, which is everybody there is.`)];
    return [failed(`${name} needs ${needed} besides its maker, and there are ${people}.`)];
  });
  return gathered(findings, `Every guarded class finds the people it needs.`);
}
