/** Bundles: the certificates a relying party needs to build a path through a CA, rollovers included. */

import { encodePem } from "#core/asn1/pem.ts";
import { refuse } from "#core/problems.ts";
import { pathOf } from "./signers.ts";
import type { CaReads, CaRecord } from "./store.ts";

/**
 * PEM of the active member's certificate, superseded siblings by NotAfter (latest first), then the ancestors up to the
 * root; retired CAs and repeats are left out (HTTP contract §4.2). Refuses `not_found` while nothing is certified.
 */
export async function chainBundle(cas: CaReads, ca: CaRecord): Promise<string> {
  const members = (await cas.lineage(ca.lineage)).filter(usable);
  const active = members.findLast(({ status }) => status === "active") ?? members.at(-1);
  if (active === undefined) throw refuse("not_found");
  const siblings = members
    .filter((member) => member !== active)
    .sort((a, b) => (b.notAfter ?? 0) - (a.notAfter ?? 0));
  const ancestors = (await pathOf(cas, active)).slice(1).filter(usable);
  return pemBundle([active, ...siblings, ...ancestors].map(certificateOf));
}

/** PEM of the certificates in order, byte-identical repeats once. */
export function pemBundle(certificates: readonly Uint8Array[]): string {
  return [...new Set(certificates.map(certificatePem))].join("");
}

export const certificatePem = (der: Uint8Array): string => encodePem("CERTIFICATE", der);

const usable = (ca: CaRecord) => ca.status !== "retired" && ca.certificate !== undefined;

function certificateOf({ certificate }: CaRecord): Uint8Array {
  if (certificate === undefined) throw refuse("not_found");
  return certificate;
}
