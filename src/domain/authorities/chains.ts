/** Every path from a CA to a root: its own, and those through cross certificates (ROL-6). */

import { refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import { pemBundle } from "./bundle.ts";
import { certificatesOf } from "./signers.ts";
import type { CaReads, CaRecord, CrossSignRecord } from "./store.ts";

/** One complete path, the CA's certificate first. */
export interface Chain {
  /** The cross certificate nearest to the CA; undefined for its native path. */
  readonly crossSign: CrossSignRecord | undefined;
  /** Who made the certificate the path begins to differ with, or the CA's own one. */
  readonly issuer: Pick<CaRecord, "id" | "label">;
  readonly pem: string;
}

/**
 * The native path first, which a root has none of, then one for each cross certificate in force for
 * the CA or a CA above it. Retired issuers lead nowhere and are left out. At most 100.
 */
export async function chainsOf(
  cas: CaReads,
  ca: CaRecord,
  now: Instant,
): Promise<readonly Chain[]> {
  if (ca.certificate === undefined) throw refuse("not_found");
  const chains: Chain[] = [];
  const parent = ca.parent && (await cas.byId(ca.parent));
  if (parent || ca.csr !== undefined) {
    const pem = pemBundle(await certificatesOf(cas, ca));
    chains.push({ crossSign: undefined, issuer: parent || ca, pem });
  }
  const below: Uint8Array[] = [];
  for (let at: CaRecord | undefined = ca; at !== undefined && chains.length < chainsMax; ) {
    for (const cross of await cas.crossSignsOf(at.id)) {
      const chain = await through(cas, cross, below, now);
      if (chain !== undefined && chains.length < chainsMax) chains.push(chain);
    }
    if (at.certificate !== undefined) below.push(at.certificate);
    at = at.parent && (await cas.byId(at.parent));
  }
  return chains;
}

/** The cross certificate and every one above it, up to its issuer's root. */
export async function crossChain(cas: CaReads, cross: CrossSignRecord): Promise<string> {
  const issuer = await cas.byId(cross.issuer);
  if (issuer === undefined) throw refuse("not_found");
  return pemBundle([cross.certificate, ...(await certificatesOf(cas, issuer))]);
}

async function through(
  cas: CaReads,
  cross: CrossSignRecord,
  below: readonly Uint8Array[],
  now: Instant,
): Promise<Chain | undefined> {
  if (cross.revoked || cross.notAfter < now) return undefined;
  const issuer = await cas.byId(cross.issuer);
  if (issuer === undefined || issuer.status === "retired") return undefined;
  const pem = pemBundle([...below, cross.certificate, ...(await certificatesOf(cas, issuer))]);
  return { crossSign: cross, issuer, pem };
}

const chainsMax = 100;
