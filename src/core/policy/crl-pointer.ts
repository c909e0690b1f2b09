/**
 * Writes the CRL pointer into a plan once its serial is known: the serial decides the partition
 * (CRL-8, EXT-3).
 */

import { oids } from "#core/asn1/oids.ts";
import type { Serial } from "#core/ids.ts";
import { crlDistributionPoints } from "#core/x509/extensions.ts";
import { partitionOf } from "#core/x509/partitions.ts";

import type { CrlPointer, Issuer, Plan } from "./plan.ts";
import type { Profile } from "./profile.ts";

/**
 * The pointer for this kind of certificate and this serial (EXT-5); CA certificates are on the full
 * CRL (CRL-9).
 */
export function crlPointerFor(
  { kind }: Pick<Plan, "kind">,
  { repeated: { crl } }: Pick<Issuer, "repeated">,
  profile: Pick<Profile, "omitRevocationPointers"> | undefined,
  serial: Serial,
): CrlPointer | undefined {
  const absent = kind === "root" || kind === "responder" || profile?.omitRevocationPointers;
  if (absent || crl === undefined) return undefined;
  if (kind !== "leaf" || crl.shards < 2) return { partition: undefined, url: crl.url };
  const partition = partitionOf(serial, crl.shards);
  return { partition, url: `${crl.url}/partition/${partition}` };
}

/** The plan with its pointer to the full CRL, if it has one, replaced by that to the partition. */
export function withCrlPointer(plan: Plan, pointer: CrlPointer | undefined): Plan {
  if (pointer?.partition === undefined) return plan;
  const extension = crlDistributionPoints([pointer.url]);
  const extensions = plan.extensions.map((each) =>
    each.oid === oids.crlDistributionPoints ? extension : each,
  );
  return { ...plan, extensions };
}
