/** Keeps the index that tells the entries of a partition without looking at all others. */

import type { CaId } from "#core/ids.ts";
import type { Store } from "#domain/store.ts";
import { type CrlScopes, memberships } from "./scopes.ts";
import type { PlacedEntry } from "./store.ts";

interface Deps {
  readonly store: Store;
  readonly scopes: CrlScopes;
}

/**
 * Brings the index of one CA up to date under one `crl.shards`; a value that is new begins from the
 * first entry. What is committed meanwhile may be left out: who reads the index looks at what is
 * later than it for himself.
 */
export async function indexPartitions(
  { store, scopes }: Deps,
  ca: CaId,
  modulus: number,
): Promise<void> {
  const everUsed = await scopes.everUsed();
  await store.read.revocations.view(async (view) => {
    let after = await view.indexed(ca, modulus);
    for (;;) {
      const page = await view.changed(ca, pageSize, after);
      const last = page.at(-1);
      if (last === undefined) return;
      after = last.sequence;
      const members = page.flatMap((entry) => membersOf(entry, modulus, everUsed));
      await store.atomically((tx) => tx.revocations.indexPartitions(ca, modulus, members, after));
      if (page.length < pageSize) return;
    }
  });
}

const membersOf = (entry: PlacedEntry, modulus: number, everUsed: readonly number[]) =>
  memberships(entry, modulus, everUsed).map(({ number, modulus: counted }) => ({
    serial: entry.serial,
    partition: number,
    modulus: counted,
  }));

const pageSize = 1000;
