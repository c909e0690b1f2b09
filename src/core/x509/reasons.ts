/** Revocation reasons by name and number (RFC 5280 §5.3.1). */

import { refuse } from "#core/problems.ts";

export const revocationReasons = {
  unspecified: 0,
  keyCompromise: 1,
  cACompromise: 2,
  affiliationChanged: 3,
  superseded: 4,
  cessationOfOperation: 5,
  certificateHold: 6,
  privilegeWithdrawn: 9,
  aACompromise: 10,
} as const;

export type RevocationReason = keyof typeof revocationReasons;

/**
 * Reads a reason by name without case; empty text is `unspecified`. Refuses all else with
 * `bad_reason`.
 */
export function parseReason(text: string): RevocationReason {
  if (text === "") return "unspecified";
  const name = text.toLowerCase();
  for (const reason of Object.keys(revocationReasons)) {
    if (reason.toLowerCase() === name) return reason as RevocationReason; // A key of the table.
  }
  throw refuse("bad_reason");
}
