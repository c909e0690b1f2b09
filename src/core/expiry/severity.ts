/** How urgent the end of a certificate is, and how the time that is left reads (EXP-1). */

import { addSeconds, type Instant, secondsPerDay } from "#core/time.ts";

/** From the least urgent to the most. */
export const severities = ["ok", "warning", "critical", "expired"] as const;
export type Severity = (typeof severities)[number];

/** What somebody is told of: everything but what is well. */
export const alarming = ["warning", "critical", "expired"] as const satisfies readonly Severity[];
export type Alarming = (typeof alarming)[number];

/** Days before its end from which a certificate is a warning, and from which it is critical. */
export interface Thresholds {
  readonly warningDays: number;
  readonly criticalDays: number;
}

/**
 * The last end that is as urgent as this or more, boundaries inside: whoever ends then has exactly
 * the days of the threshold left, and who ends now has expired. Undefined for `ok`, which every end
 * is at least (EXP-1).
 */
export function lastEndOf(
  severity: Severity,
  now: Instant,
  { warningDays, criticalDays }: Thresholds,
): Instant | undefined {
  switch (severity) {
    case "ok":
      return undefined;
    case "warning":
      return addSeconds(now, warningDays * secondsPerDay);
    case "critical":
      return addSeconds(now, criticalDays * secondsPerDay);
    case "expired":
      return now;
  }
}

/** How urgent an end is now: the most urgent severity whose last end it keeps (EXP-1). */
export function severityOf(notAfter: Instant, now: Instant, thresholds: Thresholds): Severity {
  const isAtLeast = (severity: Severity): boolean => {
    const last = lastEndOf(severity, now, thresholds);
    return last === undefined || notAfter <= last;
  };
  return severities.findLast(isAtLeast) ?? "ok";
}

/** True for what is as urgent as `least`, or more. */
export const isAtLeast = (severity: Severity, least: Severity): boolean =>
  severities.indexOf(severity) >= severities.indexOf(least);

/** The severity as one that somebody is told of; undefined for what is well. */
export const alarmOf = (severity: Severity): Alarming | undefined =>
  alarming.find((alarm) => alarm === severity);

/** Whole seconds to the end, below zero once it is over. */
export const secondsLeft = (notAfter: Instant, now: Instant): number =>
  Math.floor((notAfter - now) / 1000);

/** For people: days from two days on, hours from one hour on, else minutes, or `expired`. */
export function timeLeft(notAfter: Instant, now: Instant): string {
  const seconds = secondsLeft(notAfter, now);
  if (notAfter <= now) return "expired";
  if (seconds >= 2 * secondsPerDay) return `${Math.floor(seconds / secondsPerDay)}d`;
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 60)}m`;
}
