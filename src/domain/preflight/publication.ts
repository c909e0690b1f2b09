/** Whether what is published for relying parties is whole and renewed in time (behaviour.md PUB-1 to PUB-4). */

import { failed, type Finding, gathered, skipped, warned } from "#core/preflight/finding.ts";
import type { Artefact, Manifest } from "#core/publishing/manifest.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { lastPublicationOf } from "#domain/publishing/publish.ts";
import type { Store } from "#domain/store.ts";
import { type PublishTarget, TargetFault } from "#domain/publishing/target.ts";

export interface PublicationPremises {
  readonly store: Pick<Store, "read">;
  readonly now: Instant;
  readonly target: PublishTarget | undefined;
  readonly intervalMinutes: number;
  /** True when the target holds the octets its manifest tells of; asked of lists only. */
  readonly holds: (list: Artefact) => Promise<boolean>;
}

/** The manifest at the target, and the last run. */
export async function publicationFresh(of: PublicationPremises): Promise<Finding> {
  if (of.target === undefined) return skipped("Nothing is published (`publish`).");
  const last = await lastPublicationOf(of.store);
  const manifest = await published(of.target);
  if (typeof manifest === "string") return failed(manifest);
  if (manifest === undefined) {
    return last === undefined
      ? warned("Nothing has been published yet.")
      : failed("The manifest at the target is gone or cannot be read.");
  }
  const findings = await findingsOf(of, manifest);
  if (last?.result === "error") findings.push(warned("The last run could not sign every list."));
  const { generatedAt, artefacts } = manifest;
  return gathered(findings, `${artefacts.length} artefacts of ${timestamp(generatedAt)}.`);
}

async function published(target: PublishTarget): Promise<Manifest | string | undefined> {
  try {
    return await target.previous();
  } catch (error) {
    if (error instanceof TargetFault) return error.message;
    throw error;
  }
}

async function findingsOf(
  { now, intervalMinutes, holds }: PublicationPremises,
  { generatedAt, earliestExpiry, artefacts }: Manifest,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  if (earliestExpiry !== undefined && earliestExpiry <= now) {
    findings.push(failed(`What is published was good until ${timestamp(earliestExpiry)}.`));
  }
  if (now - generatedAt > 2 * intervalMinutes * 60_000) {
    findings.push(warned(`The newest snapshot is of ${timestamp(generatedAt)}.`));
  }
  for (const list of artefacts.filter(({ crlNumber }) => crlNumber !== undefined)) {
    if (!(await holds(list))) findings.push(failed(`${list.path} is not what the manifest says.`));
  }
  return findings;
}
