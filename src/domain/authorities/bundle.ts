/**
 * Bundles: the certificates a relying party needs to build a path through a CA, rollovers included.
 */

import { encodePem } from "#core/asn1/pem.ts";
import { refuse } from "#core/problems.ts";
import { externalCertificates, pathOf } from "./signers.ts";
import type { CaReads, CaRecord } from "./store.ts";

/**
 * PEM of the active member's certificate, superseded siblings by NotAfter (latest first), the
 * ancestors up to the root, and what was imported above it; retired CAs and repeats are left out
 * (ROL-4). Where siblings have other ancestors, for the parent was rolled over too, those stand
 * beside the active member's, nearest first. Refuses `not_found` while nothing is certified.
 */
export async function chainBundle(cas: CaReads, ca: CaRecord): Promise<string> {
  const members = (await cas.lineage(ca.lineage)).filter(usable);
  const active = members.findLast(({ status }) => status === "active") ?? members.at(-1);
  if (active === undefined) throw refuse("not_found");
  const siblings = members
    .filter((member) => member !== active)
    .sort((a, b) => (b.notAfter ?? 0) - (a.notAfter ?? 0));
  const first = [active, ...siblings];
  const paths = await Promise.all(first.map((member) => pathOf(cas, member)));
  const ancestors = byHeight(paths.map((path) => path.slice(1))).filter(usable);
  const external = paths.flatMap((path) => externalCertificates(path.at(-1)));
  return pemBundle([...[...first, ...ancestors].map(certificateOf), ...external]);
}

/** PEM of the certificates in order, byte-identical repeats once. */
export function pemBundle(certificates: readonly Uint8Array[]): string {
  return [...new Set(certificates.map(certificatePem))].join("");
}

export const certificatePem = (der: Uint8Array): string => encodePem("CERTIFICATE", der);

/** The members of several paths to a root, those farther from it first, each once. */
function byHeight(paths: readonly (readonly CaRecord[])[]): readonly CaRecord[] {
  const heights = new Map<CaRecord["id"], { readonly ca: CaRecord; readonly height: number }>();
  for (const path of paths) {
    for (const [index, ca] of path.entries()) {
      if (!heights.has(ca.id)) heights.set(ca.id, { ca, height: path.length - index });
    }
  }
  return [...heights.values()].sort((a, b) => b.height - a.height).map(({ ca }) => ca);
}

const usable = (ca: CaRecord) => ca.status !== "retired" && ca.certificate !== undefined;

function certificateOf({ certificate }: CaRecord): Uint8Array {
  if (certificate === undefined) throw refuse("not_found");
  return certificate;
}
