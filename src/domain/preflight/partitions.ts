/**
 * Whether every partition a valid certificate names is published and lists what it must (CRL-8 to
 * CRL-11).
 */

import { failed, type Finding, gathered, skipped, warned } from "#core/preflight/finding.ts";
import type { Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import { parseCrl } from "#core/x509/crl.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { fullScope, partitionScope } from "#domain/revocation/scopes.ts";
import type { CrlHead, PlacedEntry } from "#domain/revocation/store.ts";
import type { Store } from "#domain/store.ts";

export interface PartitionDeps {
  readonly store: Pick<Store, "read">;
  readonly now: Instant;
  /** `crl.shards`. */
  readonly shards: number;
  /** Newest entries of each CA that are looked for on their partition. */
  readonly sample: number;
}

/** Looks at every CA that still publishes. */
export async function partitionsServed(deps: PartitionDeps): Promise<Finding> {
  const { store, now, shards } = deps;
  const findings: Finding[] = [];
  let named = 0;
  for (const ca of await store.read.cas.signing()) {
    if (ca.internal || ca.notAfter === undefined || ca.notAfter < now) continue;
    const full = await store.read.revocations.crlHead(ca.id, fullScope, "base");
    if (shards < 2 && full !== undefined && full.size > fullBytesMax) {
      findings.push(warned(`The CRL of ${ca.label} has ${full.size} octets and no partitions.`));
    }
    const shardUrls = await store.read.revocations.shardUrls(ca.id, now);
    const partitions = [...new Set(shardUrls.map(({ partition }) => partition))];
    named += partitions.length;
    findings.push(...(await partitionFindings(deps, ca, partitions)));
  }
  if (named === 0 && findings.length === 0) {
    return skipped("No valid certificate names a partition.");
  }
  return gathered(findings, `${named} stamped partitions are served and list what they must.`);
}

async function partitionFindings(
  deps: PartitionDeps,
  ca: CaRecord,
  partitions: readonly number[],
): Promise<readonly Finding[]> {
  if (partitions.length === 0) return [];
  const { read } = deps.store;
  const last = await read.revocations.lastChange(ca.id);
  const changed = await sampled(deps, ca, Math.max(0, last - deps.sample));
  const findings: Finding[] = [];
  for (const partition of partitions) {
    const name = `Partition ${partition} of ${ca.label}`;
    const base = await read.revocations.crlHead(ca.id, partitionScope(partition), "base");
    if (base === undefined) findings.push(warned(`${name} is stamped and not published yet.`));
    else if (base.nextUpdate <= deps.now) findings.push(failed(`${name} is past its nextUpdate.`));
    else {
      const due = changed.filter(
        (entry) => entry.namedShard === partition && mustStand(entry, base),
      );
      const missing = due.length === 0 ? 0 : await missingOn(deps, base, due);
      if (missing > 0) findings.push(failed(`${name} lacks ${missing} entries.`));
    }
  }
  return findings;
}

/**
 * An entry from before the list whose certificate had not expired when it was made: nothing lets it
 * off the list.
 */
const mustStand = ({ sequence, expiresAt }: PlacedEntry, base: CrlHead): boolean =>
  sequence <= base.sequence && (expiresAt === undefined || expiresAt > base.thisUpdate);

/** The newest entries of a CA, oldest of them first. */
async function sampled(
  { store, sample }: PartitionDeps,
  { id }: CaRecord,
  afterSequence: number,
): Promise<readonly PlacedEntry[]> {
  return await store.read.revocations.view(async (view) => {
    const found: PlacedEntry[] = [];
    for (let after = afterSequence; found.length < sample; ) {
      const page = await view.changed(id, pageRows, after);
      found.push(...page);
      if (page.length < pageRows) break;
      after = page.at(-1)?.sequence ?? after;
    }
    return found;
  });
}

async function missingOn(
  { store }: PartitionDeps,
  base: CrlHead,
  due: readonly PlacedEntry[],
): Promise<number> {
  if (base.size > parsedBytesMax) return 0;
  const pieces: Uint8Array[] = [];
  for (let octets = 0; octets < base.size; ) {
    const piece = await store.read.revocations.crlPiece(base, pieces.length);
    // Pruned meanwhile: another list has taken its place.
    if (piece === undefined || piece.length === 0) return 0;
    pieces.push(piece);
    octets += piece.length;
  }
  const { entries } = parseCrl(new Uint8Array(Buffer.concat(pieces)));
  const listed = new Set<Serial>(entries.map(({ serial }) => serial));
  return due.filter(({ serial }) => !listed.has(serial)).length;
}

const fullBytesMax = 10 * 1024 * 1024;
const parsedBytesMax = 64 * 1024 * 1024;
const pageRows = 1000;
