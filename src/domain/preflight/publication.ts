/** Whether what is published for relying parties is whole and renewed in time (PUB-1 to PUB-4). */

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
  readonly interval_minutes: number;
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
  const findings = await findingsOf(of, manifest, of.target);
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
  { now, interval_minutes }: PublicationPremises,
  { generatedAt, earliestExpiry, artefacts }: Manifest,
  target: PublishTarget,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  if (earliestExpiry !== undefined && earliestExpiry <= now) {
    findings.push(failed(`What is published was good until ${timestamp(earliestExpiry)}.`));
  }
  if (now - generatedAt > 2 * interval_minutes * 60_000) {
    findings.push(warned(`The newest snapshot is of ${timestamp(generatedAt)}.`));
  }
  try {
    for (const one of sampled(artefacts)) {
      if (!(await target.has(one)))
        findings.push(failed(`${one.path} is not what the manifest says.`));
    }
  } catch (error) {
    if (!(error instanceof TargetFault)) throw error;
    findings.push(failed(error.message));
  }
  return findings;
}

/**
 * Every list and certificate; of the answers, of which there may be a million, some spread over all
 * of them.
 */
function sampled(artefacts: readonly Artefact[]): readonly Artefact[] {
  const answers = artefacts.filter(({ kind }) => kind === "ocsp");
  const step = Math.max(1, answers.length / answersMax);
  const some = Array.from(
    { length: Math.min(answersMax, answers.length) },
    (_, at) => answers[Math.floor(at * step)],
  );
  const others = artefacts.filter(({ kind }) => kind !== "ocsp");
  return [...others, ...some.filter((one) => one !== undefined)];
}

const answersMax = 100;
