/** What a lint rule is. */

import type { Linted } from "./linted.ts";

export interface LintRule {
  readonly id: string;
  readonly severity: "error" | "warn";
  /** Severity under the rules of the public web, where it differs. */
  readonly inPublic?: "error";
  /** True for rules no profile can relax. */
  readonly fixed: boolean;
  readonly clause: string;
  readonly scope: "all" | "ca" | "leaf";
  /** What is wrong, as one plain phrase; undefined when nothing is. */
  readonly check: (certificate: Linted) => string | undefined;
}

/** Octet strings of equal content. */
export function sameOctets(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
