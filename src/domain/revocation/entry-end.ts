/**
 * When an entry of the revocation table may leave the lists: the end of its certificate, as far as
 * anybody knows it (CRL-7).
 */

import type { CaId, Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Unit } from "#domain/store.ts";

/**
 * The end of the certificate; for a serial the inventory does not know that of its precertificate,
 * which the certificate it was to become would share. Undefined for what nobody here has made.
 */
export async function entryEnd(
  tx: Unit,
  { caId, serial }: { readonly caId: CaId; readonly serial: Serial },
  certificate: Pick<CertificateRecord, "notAfter"> | undefined,
): Promise<Instant | undefined> {
  if (certificate !== undefined) return certificate.notAfter;
  const precertificate = await tx.transparency.kept(caId, serial);
  return precertificate && parseCertificate(precertificate.certificate).notAfter;
}
