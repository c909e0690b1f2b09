/**
 * Merkle trees of transparency logs: hashes, and the check of inclusion and consistency proofs (RFC
 * 9162 §2.1).
 */

import { compareOctets } from "#core/asn1/der.ts";
import { createHash, sha256 } from "#core/crypto.ts";

/** SHA-256 over 0x00 and the leaf's octets. */
export const leafHash = (leaf: Uint8Array): Uint8Array =>
  createHash("sha256").update(leafPrefix).update(leaf).digest();

/** SHA-256 over 0x01 and both children. */
export const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array =>
  createHash("sha256").update(nodePrefix).update(left).update(right).digest();

/** The head of a tree without leaves. */
export const emptyRoot = (): Uint8Array => sha256(new Uint8Array());

/** A tree as its log vouches for it. */
export interface TreeHead {
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
}

/** True when `path` leads from the leaf at `index` to the head (RFC 9162 §2.1.3.2). */
export function includes(
  head: TreeHead,
  leaf: { readonly hash: Uint8Array; readonly index: number },
  path: readonly Uint8Array[],
): boolean {
  if (leaf.index < 0 || leaf.index >= head.treeSize) return false;
  let at = BigInt(leaf.index);
  let last = BigInt(head.treeSize) - 1n;
  let hash = leaf.hash;
  for (const sibling of path) {
    if (last === 0n) return false;
    if ((at & 1n) === 1n || at === last) {
      hash = nodeHash(sibling, hash);
      while ((at & 1n) === 0n && at !== 0n) [at, last] = [at >> 1n, last >> 1n];
    } else hash = nodeHash(hash, sibling);
    [at, last] = [at >> 1n, last >> 1n];
  }
  return last === 0n && compareOctets(hash, head.rootHash) === 0;
}

/**
 * True when the later tree begins with every leaf of the earlier one, in order (RFC 9162 §2.1.4.2).
 */
export function continues(
  earlier: TreeHead,
  later: TreeHead,
  path: readonly Uint8Array[],
): boolean {
  if (earlier.treeSize > later.treeSize) return false;
  if (earlier.treeSize === later.treeSize) {
    return path.length === 0 && compareOctets(earlier.rootHash, later.rootHash) === 0;
  }
  if (earlier.treeSize === 0) return path.length === 0;
  return consistent(earlier, later, path);
}

function consistent(earlier: TreeHead, later: TreeHead, path: readonly Uint8Array[]): boolean {
  let at = BigInt(earlier.treeSize) - 1n;
  let last = BigInt(later.treeSize) - 1n;
  while ((at & 1n) === 1n) [at, last] = [at >> 1n, last >> 1n];
  // A tree of 2^n leaves is a node of the later tree; the proof leaves its hash out.
  const [start, ...rest] = at === 0n ? [earlier.rootHash, ...path] : path;
  if (start === undefined) return false;
  let [old, current] = [start, start];
  for (const sibling of rest) {
    if (last === 0n) return false;
    if ((at & 1n) === 1n || at === last) {
      [old, current] = [nodeHash(sibling, old), nodeHash(sibling, current)];
      while ((at & 1n) === 0n && at !== 0n) [at, last] = [at >> 1n, last >> 1n];
    } else current = nodeHash(current, sibling);
    [at, last] = [at >> 1n, last >> 1n];
  }
  const proven = compareOctets(old, earlier.rootHash) === 0;
  return proven && last === 0n && compareOctets(current, later.rootHash) === 0;
}

const leafPrefix = Uint8Array.of(0);
const nodePrefix = Uint8Array.of(1);
