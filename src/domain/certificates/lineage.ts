/** Finds certificates by serial under every CA of a lineage (ROL-3). */

import type { Serial } from "#core/ids.ts";
import type { CaReads, CaRecord } from "#domain/authorities/store.ts";
import type { CertificateReads, CertificateRecord } from "./store.ts";

/** Certificate of a lineage with the CA whose key signed it. */
export interface LineageCertificate {
  readonly issuer: CaRecord;
  readonly certificate: CertificateRecord;
}

/** Reads that a search in a lineage needs. */
export interface LineageReads {
  readonly cas: Pick<CaReads, "lineage">;
  readonly certificates: Pick<CertificateReads, "bySerial" | "findIntended">;
}

/** Returns all CAs of the lineage of `ca`: `ca` itself first, then the others, oldest first. */
export async function listLineage(
  cas: Pick<CaReads, "lineage">,
  ca: CaRecord,
): Promise<readonly CaRecord[]> {
  const lineage = await cas.lineage(ca.lineage);
  return [ca, ...lineage.filter(({ id }) => id !== ca.id)];
}

/**
 * Returns the certificate with this serial that any CA of the lineage of `ca` has signed, or
 * undefined. A certificate of `ca` itself takes precedence.
 * @param accepts skips certificates for which it returns false
 */
export async function findInLineage(
  read: LineageReads,
  ca: CaRecord,
  serial: Serial,
  accepts: (certificate: CertificateRecord) => boolean = () => true,
): Promise<LineageCertificate | undefined> {
  const find = async (issuer: CaRecord): Promise<LineageCertificate | undefined> => {
    const certificate = await read.certificates.bySerial(issuer.id, serial);
    return certificate !== undefined && accepts(certificate) ? { issuer, certificate } : undefined;
  };
  // Usually it is one of `ca` itself, and the lineage need not be read.
  const match = await find(ca);
  if (match !== undefined) return match;
  for (const issuer of (await listLineage(read.cas, ca)).slice(1)) {
    const found = await find(issuer);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Returns the CA of the lineage of `ca` that has used this serial, or undefined if none has. A
 * certificate takes precedence over an abandoned intent.
 */
export async function findIssuer(
  read: LineageReads,
  ca: CaRecord,
  serial: Serial,
): Promise<CaRecord | undefined> {
  const found = await findInLineage(read, ca, serial);
  if (found !== undefined) return found.issuer;
  for (const one of await listLineage(read.cas, ca)) {
    const intended = await read.certificates.findIntended(one.id, [serial]);
    if (intended.has(serial)) return one;
  }
  return undefined;
}
