/** How many SCTs of transparency logs a certificate needs before it may be signed (CT-4). */

import { secondsPerDay } from "#core/time.ts";

/** What a profile asks of transparency logs. */
export interface CtPolicy {
  readonly enabled: boolean;
  /** Names in the registry; empty: every usable log. */
  readonly logs: readonly string[];
  /** 0 counts as 1. */
  readonly minScts: number;
  /** `chrome`: 2 SCTs up to 180 days, 3 above, from at least 2 operators. */
  readonly policy: "none" | "chrome";
  readonly minDistinctOperators: number;
  readonly requireOperators: readonly string[];
  /** True: a certificate is signed even when too few logs give an SCT; the record says so. */
  readonly failOpen: boolean;
  /** For each attempt; 0 counts as 10. */
  readonly timeoutSeconds: number;
  /** Attempts per log after the first. */
  readonly retries: number;
}

/** What one certificate needs. */
export interface CtNeeds {
  readonly scts: number;
  readonly operators: number;
  readonly required: readonly string[];
}

/** The needs of a certificate that is valid this long. */
export function ctNeeds(ct: CtPolicy, validitySeconds: number): CtNeeds {
  const chrome = ct.policy === "chrome";
  const byPolicy = chrome ? (validitySeconds > chromeShortSeconds ? 3 : 2) : 1;
  return {
    scts: Math.max(1, ct.minScts, byPolicy),
    operators: Math.max(chrome ? 2 : 0, ct.minDistinctOperators),
    required: ct.requireOperators,
  };
}

/** True when verified SCTs of these operators, one name per SCT, are enough. */
export function ctMet(needs: CtNeeds, operators: readonly string[]): boolean {
  const distinct = new Set(operators);
  return (
    operators.length >= needs.scts &&
    distinct.size >= needs.operators &&
    needs.required.every((operator) => distinct.has(operator))
  );
}

const chromeShortSeconds = 180 * secondsPerDay;
