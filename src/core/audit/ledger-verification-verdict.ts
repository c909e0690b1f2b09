/** What verification says of each rule of a ledger document. */

export const ledgerRules = ["V1", "V2", "V3", "V4", "V5", "V6", "V7", "V8", "V9"] as const;
export type LedgerRule = (typeof ledgerRules)[number];

/**
 * `partly` is a rule of which everything the document holds is in order, and something is left that
 * it cannot prove; `not_covered` one that this document says nothing of; `not_judged` one behind a
 * violated one.
 */
export type RuleStatus = "passed" | "partly" | "not_covered" | "violated" | "not_judged";

/** The verdict on one rule. */
export interface RuleVerdict {
  readonly rule: LedgerRule;
  readonly status: RuleStatus;
  /** How many entries, operations or keys were found to keep the rule. */
  readonly checked: number;
  /** How many of them cannot be proven either way. */
  readonly unproven: number;
  /** What is wrong, or what is left open and why; empty where there is nothing to say. */
  readonly detail: string;
  /** The violating entry's number, where the document has it. */
  readonly entry?: number | undefined;
  /** The operation's id, for a violation that lies in a sign operation. */
  readonly opId?: string | undefined;
}

/** Where a rule is broken. */
export interface Violation {
  readonly detail: string;
  readonly entry?: number | undefined;
  readonly opId?: string | undefined;
}

/** What a rule found: the first violation, or how much it saw and what it leaves open. */
export type Finding =
  | Violation
  | { readonly checked: number; readonly unproven: number; readonly open: readonly string[] };

/** The verdict a finding amounts to. */
export function verdictOf(rule: LedgerRule, finding: Finding): RuleVerdict {
  if ("detail" in finding) {
    const { detail, entry, opId } = finding;
    return { rule, status: "violated", checked: 0, unproven: 0, detail, entry, opId };
  }
  const { checked, unproven, open } = finding;
  const status = open.length === 0 ? "passed" : "partly";
  return { rule, status, checked, unproven, detail: open.join("; ") };
}

/** A rule that was not applied, and why. */
export const withoutVerdict = (
  rule: LedgerRule,
  status: "not_covered" | "not_judged",
  detail: string,
): RuleVerdict => ({ rule, status, checked: 0, unproven: 0, detail });
