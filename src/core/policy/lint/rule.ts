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
  /**
   * `leaf` is everything but CAs; `public` leaves of public profiles; `mail` and `server` leaves of
   * that purpose.
   */
  readonly scope: "all" | "ca" | "leaf" | "public" | "mail" | "server";
  /**
   * What is wrong, as one plain phrase; undefined when nothing is. Throws DerError for what cannot
   * be read.
   */
  readonly check: (certificate: Linted) => Verdict;
}

/** A warning does not refuse, whatever the severity of its rule. */
export type Verdict = string | { readonly warning: string } | undefined;

/** Octet strings of equal content. */
export function sameOctets(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
