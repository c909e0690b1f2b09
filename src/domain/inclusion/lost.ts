/**
 * Revokes the serials of public precertificates of which no certificate came: logs may show them as
 * issued (ISS-4).
 */

import type { CaReads } from "#domain/authorities/store.ts";
import { Problem } from "#core/problems.ts";
import type { Revoker } from "#domain/revocation/revoke.ts";
import { systemOrigin } from "#domain/revocation/system-origin.ts";
import type { Store } from "#domain/store.ts";
import type { PrecertificateRecord } from "#domain/transparency/store.ts";

export interface LostDeps {
  readonly store: Store;
  readonly revoker: () => Pick<Revoker, "revoke">;
}

/**
 * Revokes all there are; runs again without finding any, also after a crash between revocation and
 * settlement.
 */
export async function revokeLost(deps: LostDeps): Promise<void> {
  for (;;) {
    const lost = await deps.store.read.transparency.lost(pageSize);
    for (const one of lost) await revokeOne(deps, one);
    if (lost.length < pageSize) return;
  }
}

async function revokeOne({ store, revoker }: LostDeps, lost: PrecertificateRecord): Promise<void> {
  const { caId, serial } = lost;
  const ca = await presentCa(store.read.cas, lost);
  const request = { ca, serial, origin: systemOrigin("ct"), mayManageCa: false };
  try {
    await revoker().revoke(request, "unspecified");
  } catch (error) {
    // Somebody revoked it before us, which is all that is wanted.
    if (!(error instanceof Problem) || error.code !== "already_revoked") throw error;
  }
  await store.atomically((tx) => tx.transparency.settlePrecertificate(caId, serial));
}

async function presentCa(cas: CaReads, { caId }: PrecertificateRecord) {
  const ca = await cas.byId(caId);
  if (ca === undefined) throw new Error("a precertificate has the CA that signed it");
  return ca;
}

const pageSize = 100;
