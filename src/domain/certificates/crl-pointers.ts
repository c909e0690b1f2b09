/** The CRL pointer of a certificate as it is stored: with its row, and with its partition. */

import type { ClearedPlan } from "#core/policy/gates.ts";
import type { Unit } from "#domain/store.ts";
import type { CertificateRecord } from "./store.ts";

type Pointing = Pick<ClearedPlan, "issuer" | "plan" | "crlPointer">;

/**
 * Before the certificate can exist: from now on its partition is published under its URL (CRL-10,
 * CRL-11).
 */
export async function keepCrlPointer(
  tx: Unit,
  { issuer, plan, crlPointer }: Pointing,
): Promise<void> {
  if (crlPointer?.partition === undefined) return;
  const { partition, url } = crlPointer;
  await tx.revocations.keepShardUrl({ caId: issuer.id, partition, url, notAfter: plan.notAfter });
}

/** What the row of the certificate says of it (EXT-3). */
export const crlPointerColumns = ({
  crlPointer,
}: Pick<Pointing, "crlPointer">): Pick<CertificateRecord, "crlPartition" | "crlUrl"> => ({
  crlPartition: crlPointer?.partition,
  crlUrl: crlPointer?.url,
});
