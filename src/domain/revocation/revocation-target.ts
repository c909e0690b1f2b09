/** Resolves the CA key that a revocation by serial concerns (ROL-3). */

import type { Serial } from "#core/ids.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { findIssuer, type LineageReads, listLineage } from "#domain/certificates/lineage.ts";
import type { RevocationReads } from "./store.ts";

/** Reads that `resolveRevocationTarget` needs. */
export interface TargetReads extends LineageReads {
  readonly revocations: Pick<RevocationReads, "bySerial">;
}

/**
 * Returns the CA of the lineage of `ca` whose entry a revocation, hold or release of this serial
 * changes. That is the issuer, or for a serial without issuer the CA that has it on hold. Every
 * other serial concerns `ca` itself: a permanent entry under another key has no effect on its key.
 */
export async function resolveRevocationTarget(
  read: TargetReads,
  ca: CaRecord,
  serial: Serial,
): Promise<CaRecord> {
  const issuer = await findIssuer(read, ca, serial);
  if (issuer !== undefined) return issuer;
  if ((await read.revocations.bySerial(ca.id, serial)) !== undefined) return ca;
  for (const other of await listLineage(read.cas, ca)) {
    const entry = await read.revocations.bySerial(other.id, serial);
    if (entry?.reason === "certificateHold") return other;
  }
  return ca;
}
