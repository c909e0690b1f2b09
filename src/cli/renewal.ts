/** When a certificate is due to be renewed. */

import type { ParsedCertificate } from "#core/x509/certificate.ts";
import { addSeconds, type Instant } from "#core/time.ts";

/** What is told of a certificate. */
export interface Due {
  readonly due: boolean;
  /** From when on it is due. */
  readonly since: Instant;
  /** Whole seconds it still lives; 0 when it has expired. */
  readonly remainingSeconds: number;
}

/**
 * Due when less than `withinSeconds` of its life is left, two thirds of it at most, or without one
 * less than a third of it.
 */
export function renewalDue(
  { notBefore, notAfter }: Pick<ParsedCertificate, "notBefore" | "notAfter">,
  withinSeconds: number | undefined,
  now: Instant,
): Due {
  const life = Math.max(0, Math.floor((notAfter - notBefore) / 1000));
  // A certificate that is due from its first moment would be renewed at every look, for ever.
  const withinMax = Math.floor((life * 2) / 3);
  const within = Math.min(withinSeconds ?? Math.floor(life / 3), withinMax);
  const since = addSeconds(notAfter, -within);
  const remainingSeconds = Math.max(0, Math.floor((notAfter - now) / 1000));
  return { due: now >= since, since, remainingSeconds };
}
