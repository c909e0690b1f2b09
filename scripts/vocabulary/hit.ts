/** Hit of a row or rule, and the names of the rules without a pattern. */

/** One violation of a row or rule. */
export interface Hit {
  /** Pattern of the row, or name of the rule; it identifies both in the baseline. */
  readonly rule: string;
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly found: string;
  /** Terms or forms to use. */
  readonly instead: string;
}

/** Names of the rules without a pattern, as in the baseline. */
export const ruleNames = [
  "comment: sentence over 25 words",
  "doc comment: opening",
  "doc comment: over 3 sentences",
  "function name: get",
  "function name: participle",
  "function name: preposition",
  "test name: no subject",
  "type name: exported twice",
  "type name: participle or adjective",
] as const;

/** Name of a rule without a pattern. */
export type RuleName = (typeof ruleNames)[number];
