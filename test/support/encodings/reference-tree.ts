/**
 * A Merkle tree as RFC 6962 §2.1 defines it, by recursion over all leaves: what the quick forms are
 * held against.
 */

import { createHash } from "node:crypto";

const sha256 = (...parts: readonly Uint8Array[]): Uint8Array => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return new Uint8Array(hash.digest());
};

/** MTH(D[n]) over leaf hashes. */
export function treeRoot(leaves: readonly Uint8Array[]): Uint8Array {
  const [only] = leaves;
  if (only === undefined) return sha256();
  if (leaves.length === 1) return only;
  const k = split(leaves.length);
  return sha256(Uint8Array.of(1), treeRoot(leaves.slice(0, k)), treeRoot(leaves.slice(k)));
}

/** PATH(m, D[n]). */
export function auditPath(m: number, leaves: readonly Uint8Array[]): readonly Uint8Array[] {
  if (leaves.length <= 1) return [];
  const k = split(leaves.length);
  return m < k
    ? [...auditPath(m, leaves.slice(0, k)), treeRoot(leaves.slice(k))]
    : [...auditPath(m - k, leaves.slice(k)), treeRoot(leaves.slice(0, k))];
}

/** PROOF(m, D[n]). */
export const consistencyPath = (m: number, leaves: readonly Uint8Array[]): readonly Uint8Array[] =>
  m === 0 || m === leaves.length ? [] : subproof(m, leaves, true);

function subproof(m: number, leaves: readonly Uint8Array[], whole: boolean): Uint8Array[] {
  if (m === leaves.length) return whole ? [] : [treeRoot(leaves)];
  const k = split(leaves.length);
  return m <= k
    ? [...subproof(m, leaves.slice(0, k), whole), treeRoot(leaves.slice(k))]
    : [...subproof(m - k, leaves.slice(k), false), treeRoot(leaves.slice(0, k))];
}

/** The hashes of a tile: heads of complete subtrees of 256^level leaves. */
export function tileHashes(
  level: number,
  index: number,
  width: number,
  leaves: readonly Uint8Array[],
): readonly Uint8Array[] {
  const unit = 256 ** level;
  return Array.from({ length: width }, (_, at) => {
    const from = (index * 256 + at) * unit;
    return treeRoot(leaves.slice(from, from + unit));
  });
}

/** The leaf hash of some octets. */
export const leafOf = (octets: Uint8Array): Uint8Array => sha256(Uint8Array.of(0), octets);

function split(n: number): number {
  return 2 ** Math.ceil(Math.log2(n) - 1);
}
