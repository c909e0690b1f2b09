/**
 * Reads the entries of one CRL from a view: everything for a base, what changed since its base for
 * a delta (CRL-12).
 */

import type { CaId, Serial } from "#core/ids.ts";
import { CrlEntries } from "#core/x509/crl-segments.ts";
import { belongs } from "./scopes.ts";
import type { CrlHead, ListedEntry, Partition, ReleasedEntry, RevocationView } from "./store.ts";

/** What is asked for. */
export interface Wanted {
  readonly ca: CaId;
  readonly partition: Partition | undefined;
  /** Every `crl.shards` there ever was. */
  readonly everUsed: readonly number[];
}

/** Everything revoked or held, less what has left (CRL-7, CRL-9). */
export async function baseEntries(
  view: RevocationView,
  { ca, partition, everUsed }: Wanted,
  prior: CrlHead["prior"],
): Promise<CrlEntries> {
  const entries = new CrlEntries();
  const indexed = partition && (await view.indexed(ca, partition.modulus));
  for (let after: Serial | undefined; ; ) {
    const page = await view.listed(ca, partition, pageSize, after);
    for (const row of page) {
      after = row.serial;
      if (indexed !== undefined && row.sequence > indexed) continue;
      if (!departed(row, prior)) entries.add(row);
    }
    if (page.length < pageSize) break;
  }
  // What the index does not know yet is told apart one by one.
  for (let after = indexed; after !== undefined; ) {
    const page = await view.changed(ca, pageSize, after);
    for (const row of page) {
      if (belongs(row, partition, everUsed) && !departed(row, prior)) entries.add(row);
    }
    after = page.length < pageSize ? undefined : page.at(-1)?.sequence;
  }
  return entries;
}

/**
 * What was revoked or held since the base, and what the base lists that was released since (CRL-4).
 */
export async function deltaEntries(
  view: RevocationView,
  { ca, partition, everUsed }: Wanted,
  base: CrlHead,
): Promise<CrlEntries> {
  const entries = new CrlEntries();
  const released = new Map<Serial, ReleasedEntry>();
  for (let after: number | undefined = base.sequence; after !== undefined; ) {
    const page: readonly ReleasedEntry[] = await view.released(ca, pageSize, after);
    for (const row of page) {
      const stood =
        row.since <= base.sequence && !departed({ ...row, sequence: row.since }, base.prior);
      if (stood && belongs(row, partition, everUsed)) released.set(row.serial, row);
    }
    after = page.length < pageSize ? undefined : page.at(-1)?.sequence;
  }
  for (let after: number | undefined = base.sequence; after !== undefined; ) {
    const page = await view.changed(ca, pageSize, after);
    for (const row of page) {
      if (!belongs(row, partition, everUsed)) continue;
      // Held anew after it was released: listed once, as what it is.
      released.delete(row.serial);
      entries.add(row);
    }
    after = page.length < pageSize ? undefined : page.at(-1)?.sequence;
  }
  for (const { serial, revokedAt } of released.values()) {
    entries.add({ serial, revokedAt, reason: "removeFromCRL" });
  }
  return entries;
}

/**
 * True when the entry has done its time: a CRL issued after its certificate's expiry has listed it
 * (CRL-7). The base before is such a one when it is later than the expiry and covers the entry's
 * sequence: either it listed the entry, or one before it did. Bare entries have no expiry and stay.
 */
export function departed(
  row: Pick<ListedEntry, "expiresAt" | "sequence">,
  prior: CrlHead["prior"],
): boolean {
  if (row.expiresAt === undefined || prior === undefined) return false;
  return prior.thisUpdate > row.expiresAt && prior.sequence >= row.sequence;
}

const pageSize = 1000;
