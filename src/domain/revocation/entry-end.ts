/**
 * When an entry of the revocation table may leave the lists: the end of its certificate, as far as
 * anybody knows it (CRL-7).
 */

import type { CaId, Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Store, Unit } from "#domain/store.ts";

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

/**
 * Gives entries that older releases left without an end the one the store knows, that of the
 * precertificate, once in the life of an instance; gives how many entries it was. What nobody here
 * has made, or of what only the intent is left, has no end that is known: it stays until the lists
 * of its CA end with the CA's certificate.
 */
export async function fillEntryEnds(store: Store): Promise<number> {
  if ((await store.read.instance.value(doneName)) !== undefined) return 0;
  for (let filled = 0; ; ) {
    const found = await store.read.transparency.endless(pageRows);
    await store.atomically(async (tx) => {
      for (const { caId, serial, certificate } of found) {
        await tx.revocations.setEnd(caId, serial, parseCertificate(certificate).notAfter);
      }
      if (found.length < pageRows) await tx.instance.setValue(doneName, "filled");
    });
    filled += found.length;
    if (found.length < pageRows) return filled;
  }
}

const doneName = "entry_ends";
const pageRows = 500;
