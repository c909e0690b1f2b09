/** What preflight asks of certificates: how long they still live, and what that endangers. */

import { failed, type Finding, gathered, skipped, warned } from "#core/preflight/finding.ts";
import type { ProfileSet } from "#core/policy/profiles.ts";
import { addSeconds, type Instant, secondsPerDay, timestamp } from "#core/time.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Store } from "#domain/store.ts";

/** Days before expiry from which to warn, and from which to fail. */
export interface ExpiryLimits {
  readonly warnDays: number;
  readonly failDays: number;
}

type Deps = Pick<Store, "read">;

/** Every CA that is not retired; an active one must outlive the certificates of its profiles. */
export async function casLive(
  store: Deps,
  profiles: ProfileSet,
  now: Instant,
  limits: ExpiryLimits,
): Promise<Finding> {
  const cas = (await store.read.cas.signing()).filter(({ status }) => status !== "retired");
  const findings: Finding[] = [];
  for (const ca of cas) {
    if (ca.notAfter === undefined) continue;
    const days = daysUntil(ca.notAfter, now);
    const told = `${ca.label} expires ${timestamp(ca.notAfter)}`;
    if (days < limits.failDays) findings.push(failed(`${told}.`));
    else if (days < limits.warnDays) findings.push(warned(`${told}.`));
    else {
      const longer = await outlivedBy(store, ca, profiles, now);
      if (longer !== undefined)
        findings.push(warned(`${told}, before certificates of ${longer} may.`));
    }
  }
  return gathered(findings, `${cas.length} CAs live for ${limits.warnDays} days and more.`);
}

/** The profile on this CA whose certificates would end after it; they are cut short or refused. */
async function outlivedBy(
  { read }: Deps,
  ca: CaRecord,
  profiles: ProfileSet,
  now: Instant,
): Promise<string | undefined> {
  if (ca.status !== "active" || ca.internal || ca.notAfter === undefined) return undefined;
  const days = daysUntil(ca.notAfter, now);
  for (const { name, defaultValiditySeconds } of profiles.sorted()) {
    if (defaultValiditySeconds / secondsPerDay <= days) continue;
    const filter = { caId: ca.id, profile: name, now };
    if ((await read.certificates.page(filter, 1)).items.length > 0) return name;
  }
  return undefined;
}

/**
 * Responders are renewed at half of their life; a week-long one is in danger later than the usual
 * limits say.
 */
export async function respondersLive(
  { read }: Deps,
  now: Instant,
  { failDays }: ExpiryLimits,
): Promise<Finding> {
  const findings: Finding[] = [];
  let found = 0;
  for (const ca of await read.cas.signing()) {
    const responder = await read.revocations.responder(ca.id);
    if (responder === undefined || ca.notAfter === undefined || ca.notAfter < now) continue;
    found += 1;
    const { notBefore, notAfter } = responder;
    const told = `The responder of ${ca.label} expires ${timestamp(notAfter)}`;
    const lifeDays = (notAfter - notBefore) / 1000 / secondsPerDay;
    const days = daysUntil(notAfter, now);
    if (days < Math.min(failDays, lifeDays / 4)) findings.push(failed(`${told}.`));
    else if (now > (notBefore + notAfter) / 2)
      findings.push(warned(`${told}, past half of its life.`));
  }
  if (found === 0) return skipped("No responder has a certificate yet.");
  return gathered(findings, `${found} responders are in the first half of their life.`);
}

/**
 * Leaves that are due, and those that expired a week ago with nobody caring; superseded ones and
 * canaries left out, as in the expiry report (EXP-1, EXP-2).
 */
export async function leavesRenewed(
  store: Deps,
  now: Instant,
  { warnDays, failDays }: ExpiryLimits,
): Promise<Finding> {
  const until = (days: number) => addSeconds(now, days * secondsPerDay);
  const ends = [until(-forgottenDays), now, until(failDays), until(Math.max(warnDays, failDays))];
  const sums = ends.map(() => 0);
  for (const ca of await store.read.cas.signing()) {
    const counts = await store.read.expiry.endCounts(ca.id, ends);
    for (const [at, { present }] of counts.entries()) sums[at] = (sums[at] ?? 0) + present;
  }
  const [forgotten = 0, , critical = 0, warning = 0] = sums;
  const ago = `Expired for more than ${forgottenDays} days and not renewed: ${forgotten}.`;
  const findings = [
    ...(forgotten > 0 ? [failed(ago)] : []),
    ...(critical > 0 ? [warned(`Expiring within ${failDays} days: ${critical}.`)] : []),
  ];
  return gathered(findings, `Expiring within ${warnDays} days: ${warning + critical}.`);
}

/** Whether logs have included what they gave SCTs for; undefined interval: nobody looks. */
export async function sctsKept(
  { read }: Deps,
  now: Instant,
  intervalMinutes: number | undefined,
): Promise<Finding> {
  const counts = await read.transparency.counts({ reach: "platform" });
  const { pending, included, failed: broken, unknown_log } = counts;
  if (pending + included + broken + unknown_log === 0) return skipped("No log gave an SCT.");
  const findings: Finding[] = [];
  if (broken > 0) findings.push(failed(`Promises that logs broke: ${broken}.`));
  if (unknown_log > 0)
    findings.push(warned(`Promises of logs nobody knows any more: ${unknown_log}.`));
  const overdue = intervalMinutes === undefined ? now : addSeconds(now, -120 * intervalMinutes);
  const [late] = await read.transparency.due(overdue, 1);
  if (late !== undefined) {
    const sentence =
      intervalMinutes === undefined
        ? "The inclusion monitor is switched off, and SCTs are due."
        : `The inclusion monitor stands: a check has been due since ${timestamp(late.dueAt)}.`;
    findings.push(warned(sentence));
  }
  return gathered(findings, `Kept: ${included}, pending: ${pending}.`);
}

const daysUntil = (at: Instant, now: Instant): number => (at - now) / 1000 / secondsPerDay;

const forgottenDays = 7;
