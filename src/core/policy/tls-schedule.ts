/**
 * How long a publicly trusted TLS certificate may live, by the day it begins (CA/Browser Forum BR
 * 6.3.2).
 */

import { type Instant, instant } from "#core/time.ts";

/** Days of validity allowed to a certificate that begins then. */
export function tlsDaysMax(notBefore: Instant): number {
  return steps.find(({ before }) => notBefore < before)?.days ?? lastDays;
}

const steps = [
  { before: instant(Date.UTC(2026, 2, 15)), days: 398 },
  { before: instant(Date.UTC(2027, 2, 15)), days: 200 },
  { before: instant(Date.UTC(2029, 2, 15)), days: 100 },
] as const;
const lastDays = 47;
