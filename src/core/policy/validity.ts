/**
 * How long a certificate lives: backdating, limits, and what happens to a validity above them
 * (PRO-1, PRO-2).
 */

import { addSeconds, type Instant, secondsPerDay, wholeSecond } from "#core/time.ts";

import type { Objection, ValidityLimit } from "./plan.ts";

export interface ValidityRequest {
  /** Seconds asked for; undefined takes the default. */
  readonly requestedSeconds: number | undefined;
  readonly defaultSeconds: number;
  /** 0: no limit by the profile, by policy. */
  readonly profileMaxSeconds: number;
  readonly policyMaxSeconds: number;
  /** The issuer's own validity; undefined for a root, which is bound by none. */
  readonly issuer: { readonly notBefore: Instant; readonly notAfter: Instant } | undefined;
  readonly backdateSeconds: number;
  /**
   * True when a validity above a limit is shortened (protocols) and not refused (people, JSON,
   * CLI).
   */
  readonly shorten: boolean;
}

export interface Validity {
  readonly notBefore: Instant;
  /** Inclusive (RFC 5280 §4.1.2.5): the span is the validity exactly. */
  readonly notAfter: Instant;
  readonly clamped: ValidityLimit | undefined;
  readonly objection: Objection | undefined;
}

/**
 * Places the validity in time; one above a limit is always cut to it, and objected to where it must
 * be refused.
 */
export function placeValidity(request: ValidityRequest, now: Instant): Validity {
  const wanted = request.requestedSeconds ?? request.defaultSeconds;
  const limit = tightestLimit(request, wanted, now);
  if (limit === undefined) {
    return { ...span(request, wanted, now), clamped: undefined, objection: undefined };
  }
  const refused = request.requestedSeconds !== undefined && !request.shorten;
  return {
    ...span(request, limit.seconds, now),
    clamped: limit.by,
    objection: refused ? objection(wanted, limit) : undefined,
  };
}

interface Limit {
  readonly by: ValidityLimit;
  readonly seconds: number;
}

function tightestLimit(request: ValidityRequest, wanted: number, now: Instant): Limit | undefined {
  let tightest: Limit | undefined;
  const consider = (by: ValidityLimit, seconds: number) => {
    if (wanted > seconds && (tightest === undefined || seconds < tightest.seconds)) {
      tightest = { by, seconds };
    }
  };
  if (request.profileMaxSeconds > 0) consider("profile", request.profileMaxSeconds);
  if (request.policyMaxSeconds > 0) consider("policy", request.policyMaxSeconds);
  if (request.issuer !== undefined) {
    // What is left of the CA, from the latest start this validity may have up to its last second.
    const remaining = (request.issuer.notAfter - wholeSecond(now)) / 1000 + 1;
    consider(
      "ca",
      remaining + backdate(request, (remaining * 12) / 11, request.issuer.notBefore, now),
    );
  }
  return tightest;
}

function span(request: ValidityRequest, seconds: number, now: Instant) {
  const back = backdate(request, seconds, request.issuer?.notBefore, now);
  const notBefore = addSeconds(wholeSecond(now), -back);
  return { notBefore, notAfter: addSeconds(notBefore, seconds - 1) };
}

/** At most a twelfth of the validity, and never before the issuer itself is valid. */
function backdate(
  request: ValidityRequest,
  seconds: number,
  earliest: Instant | undefined,
  now: Instant,
): number {
  const twelfth = Math.max(0, Math.floor(seconds / 12));
  const sinceIssuer =
    earliest === undefined ? Number.POSITIVE_INFINITY : (wholeSecond(now) - earliest) / 1000;
  return Math.max(0, Math.min(request.backdateSeconds, twelfth, sinceIssuer));
}

function objection(wanted: number, limit: Limit): Objection {
  return {
    gate: "validity",
    reason: `longer than the ${limit.by} allows`,
    code: "validity_exceeds_limit",
    facts: {
      requested_days: Math.ceil(wanted / secondsPerDay),
      // Rounded down, so that asking for the limit is allowed.
      limit_days: Math.max(0, Math.floor(limit.seconds / secondsPerDay)),
      limit: limit.by,
    },
  };
}
