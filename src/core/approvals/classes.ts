/**
 * WHAT TAKES TWO: the classes of operations that wait for another person's approval, and who counts
 * as one.
 */

import { canonicalAddress, type Person } from "#core/access/person.ts";

/** What takes two (APR-1). */
export const approvalClasses = [
  "ca.create",
  "ca.rotate",
  "ca.retire",
  "revocation.bulk",
  "kek.rotate",
  "token.create",
  "cert.issue",
] as const;
export type ApprovalClass = (typeof approvalClasses)[number];

/** How far a request for approval has come (APV-1). */
export const approvalStatuses = [
  "pending",
  "approved",
  "executing",
  "executed",
  "failed",
  "rejected",
  "expired",
] as const;
export type ApprovalStatus = (typeof approvalStatuses)[number];

/** What `approvals` of the configuration says. */
export interface ApprovalsSection {
  readonly enabled: boolean;
  /** Undefined: not given. */
  readonly default_threshold: number | undefined;
  readonly thresholds: Readonly<Record<string, number>>;
  readonly operators: Readonly<Record<string, readonly string[]>>;
  readonly request_ttl_hours: number;
}

/**
 * How many people besides the maker a class needs; 0 is unguarded. With neither a default nor a
 * class given it is 1 everywhere, with only classes the others are unguarded (APV-2).
 */
export function thresholdOf(
  settings: Pick<ApprovalsSection, "enabled" | "default_threshold" | "thresholds">,
  of: ApprovalClass,
): number {
  if (!settings.enabled) return 0;
  const { thresholds, default_threshold } = settings;
  const own = Object.hasOwn(thresholds, of) ? thresholds[of] : undefined;
  if (own !== undefined) return own;
  return default_threshold ?? (Object.keys(thresholds).length === 0 ? 1 : 0);
}

/**
 * True when the person may decide requests of the class: on its list of operators, where it has
 * one. A name with an at sign is a verified address and never a subject, for who chooses subjects
 * must not choose addresses.
 */
export function isOperator(settings: ApprovalsSection, of: ApprovalClass, person: Person): boolean {
  const named = Object.hasOwn(settings.operators, of) ? settings.operators[of] : undefined;
  if (named === undefined || named.length === 0) return true;
  return named.some((name) => isNamed(name, person));
}

const isNamed = (name: string, person: Person): boolean =>
  name.includes("@") ? canonicalAddress(name) === person.address : name === person.subject;

/**
 * How many of those listed for the class may decide what this person asks for; undefined where the
 * class has no list.
 */
export function operatorsBeside(
  settings: ApprovalsSection,
  of: ApprovalClass,
  maker: Person,
): number | undefined {
  const named = Object.hasOwn(settings.operators, of) ? settings.operators[of] : undefined;
  if (named === undefined || named.length === 0) return undefined;
  return new Set(named.filter((name) => !isNamed(name, maker))).size;
}

/**
 * True when an execution refused with this code may be tried again without new approvals: the key
 * store, load, quotas, transparency and storage come back by themselves; drift, validation, gates
 * and state do not (APV-4, APR-7).
 */
export const isRetryable = (code: string): boolean => retryable.has(code);

const retryable: ReadonlySet<string> = new Set([
  "key_unavailable",
  "overloaded",
  "quota_exceeded",
  "rate_limited",
  "ct_policy_unmet",
  "storage_unavailable",
  "crl_unavailable",
  "shutting_down",
  "bulk_partial",
  "operation_running",
]);
