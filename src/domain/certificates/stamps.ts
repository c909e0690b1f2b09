/** The CRL pointer of a certificate as it is remembered: with its row, and with its partition. */

import type { ClearedPlan } from "#core/policy/gates.ts";
import type { Unit } from "#domain/store.ts";
import type { CertificateRecord } from "./store.ts";

type Stamped = Pick<ClearedPlan, "issuer" | "plan" | "stamp">;

/**
 * Before the certificate can exist: from now on its partition is published under its URL (CRL-10,
 * CRL-11).
 */
export async function keepStamp(tx: Unit, { issuer, plan, stamp }: Stamped): Promise<void> {
  if (stamp?.partition === undefined) return;
  const { partition, url } = stamp;
  await tx.revocations.stamp({ caId: issuer.id, partition, url, notAfter: plan.notAfter });
}

/** What the row of the certificate says of it (EXT-3). */
export const stampOf = ({
  stamp,
}: Pick<Stamped, "stamp">): Pick<CertificateRecord, "crlPartition" | "crlUrl"> => ({
  crlPartition: stamp?.partition,
  crlUrl: stamp?.url,
});
