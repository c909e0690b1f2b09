/** When a certificate is due to be renewed, and when to look again whether it is. */

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

/** How the last look ended, and what the next one waits for. */
export interface Pace {
  /** Seconds between looks that succeed. */
  readonly everySeconds: number;
  /** Looks that have failed since the last one that did not. */
  readonly failures: number;
  /** Drawn for this pause: at least 0, less than 1. */
  readonly chance: number;
}

/**
 * Milliseconds to the next look. A minute after the first failure, twice as long after each further
 * one, never longer than between looks; and up to a tenth more by chance, so that a thousand
 * machines that were started together do not come together for ever.
 */
export function pauseMs({ everySeconds, failures, chance }: Pace): number {
  const doubled = retrySeconds * 2 ** Math.min(Math.max(failures - 1, 0), 10);
  const seconds = failures === 0 ? everySeconds : Math.min(everySeconds, doubled);
  return Math.min(Math.round(seconds * 1000 * (1 + chance / 10)), timerMsMax);
}

const retrySeconds = 60;
/** A longer timer of the runtime ends at once. */
const timerMsMax = 2 ** 31 - 1;
