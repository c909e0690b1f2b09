/**
 * What preflight asks of CRLs: whether they are renewed in time, have their deltas, and go on from
 * what relying parties have seen.
 */

import { failed, type Finding, gathered, passed, warned } from "#core/preflight/finding.ts";
import { type Instant, timestamp } from "#core/time.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { listPath } from "#domain/publishing/artefacts.ts";
import { type PublishTarget, TargetFault } from "#domain/publishing/target.ts";
import { CrlScopes, fullScope } from "#domain/revocation/scopes.ts";
import type { CrlHead } from "#domain/revocation/store.ts";
import type { Store } from "#domain/store.ts";

export interface CrlPremises {
  readonly store: Pick<Store, "read">;
  readonly now: Instant;
  /** As configured. */
  readonly shards: number;
  /** Where lists are published for others to serve; undefined where nothing is, or may be asked. */
  readonly target: Pick<PublishTarget, "previous"> | undefined;
}

/**
 * The newest base and delta of every scope that is published and served, of every CA that still has
 * to publish.
 */
export async function crlsFresh(of: CrlPremises): Promise<Finding> {
  const { store, now, shards } = of;
  const { read } = store;
  const kept = new CrlScopes({
    store,
    clock: { now: () => now },
    config: { crl: { shards, base_url: undefined } },
  });
  const seen = await numbersSeen(of.target);
  const findings: Finding[] = [];
  let fresh = 0;
  for (const ca of await read.cas.signing()) {
    if (ca.internal || ca.notAfter === undefined || ca.notAfter < now) continue;
    const scopes = new Set([fullScope, ...(await kept.published(ca.id))]);
    for (const scope of scopes) {
      const found = await listFinding(of, ca, scope, seen);
      if (found === undefined) fresh += 1;
      else findings.push(found);
    }
  }
  if (fresh + findings.length === 0) return passed("No CA has to publish.");
  return gathered(findings, `${fresh} CRLs are in the first half of their life.`);
}

/**
 * CRL numbers of what is published, by path. A target that cannot be read is the matter of
 * publish.freshness.
 */
async function numbersSeen(
  target: CrlPremises["target"],
): Promise<ReadonlyMap<string, number | undefined>> {
  try {
    const artefacts = (await target?.previous())?.artefacts ?? [];
    return new Map(artefacts.map(({ path, crlNumber }) => [path, crlNumber]));
  } catch (error) {
    if (error instanceof TargetFault) return new Map();
    throw error;
  }
}

/** Undefined while base and delta of the scope are as they should be. */
async function listFinding(
  { store: { read }, now }: CrlPremises,
  ca: CaRecord,
  scope: string,
  seen: ReadonlyMap<string, number | undefined>,
): Promise<Finding | undefined> {
  const list = scope === fullScope ? "CRL" : `CRL ${scope}`;
  const base = await read.revocations.crlHead(ca.id, scope, "base");
  if (base === undefined) return warned(`${ca.label} has no ${list} yet.`);
  const delta = await read.revocations.crlHead(ca.id, scope, "delta");
  for (const head of [base, delta]) {
    const number = head && seen.get(listPath(head));
    if (number !== undefined && head !== undefined && head.number < number) {
      const which = head === base ? list : `delta of ${list}`;
      return failed(
        `The newest ${which} of ${ca.label} has number ${head.number}, and number ${number} is published already.`,
      );
    }
  }
  const name = `${list} ${base.number} of ${ca.label}`;
  const told = `${name} is good until ${timestamp(base.nextUpdate)}`;
  if (base.nextUpdate <= now) return failed(`${told}.`);
  if (base.thisUpdate > now) return failed(begins(name, base));
  if (now > (base.thisUpdate + base.nextUpdate) / 2) {
    return warned(`${told}, past half of its life.`);
  }
  return deltaFinding(name, base, delta, now);
}

function deltaFinding(
  name: string,
  base: CrlHead,
  delta: CrlHead | undefined,
  now: Instant,
): Finding | undefined {
  if (delta === undefined || delta.base !== base.number) {
    const since = base.publishedAt ?? base.thisUpdate;
    return now - since > deltaMsMax ? warned(`${name} has no delta.`) : undefined;
  }
  if (delta.thisUpdate > now) return failed(begins(`The delta of ${name}`, delta));
  if (delta.nextUpdate > now) return undefined;
  return warned(`The delta of ${name} ended ${timestamp(delta.nextUpdate)}.`);
}

/** CRL-2: relying parties refuse a list that is not valid yet. */
const begins = (name: string, { thisUpdate }: CrlHead): string =>
  `${name} begins in the future, ${timestamp(thisUpdate)}: the clock was ahead when it was signed.`;

/** A base that a download has had signed gets its delta from the job that looks every minute. */
const deltaMsMax = 180_000;
