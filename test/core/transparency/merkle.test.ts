/** Merkle proofs, held against a tree that computes everything by definition. */

import { expect, test } from "bun:test";

import { continues, emptyRoot, includes, leafHash } from "#core/transparency/merkle.ts";
import {
  consistencySpans,
  inclusionSpans,
  spanHash,
  type Tile,
  tilePath,
} from "#core/transparency/tiles.ts";
import {
  auditPath,
  consistencyPath,
  leafOf,
  tileHashes,
  treeRoot,
} from "#test/support/encodings/reference-tree.ts";

const octets = (n: number) => new TextEncoder().encode(`leaf ${n}`);
const leavesOf = (n: number) => Array.from({ length: n }, (_, at) => leafOf(octets(at)));
const headOf = (n: number) => ({ treeSize: n, rootHash: treeRoot(leavesOf(n)) });
const small = Array.from({ length: 34 }, (_, n) => n);

test("RFC 6962 §2.1: the hash of a leaf and the head of an empty tree", () => {
  expect(leafHash(octets(1))).toEqual(Buffer.from(leafOf(octets(1))));
  expect(Buffer.from(emptyRoot())).toEqual(Buffer.from(treeRoot([])));
});

test("every leaf of every small tree is included, at its own index only", () => {
  for (const n of small) {
    const leaves = leavesOf(n);
    const head = headOf(n);
    for (const [index, hash] of leaves.entries()) {
      const path = auditPath(index, leaves);
      expect(includes(head, { hash, index }, path)).toBe(true);
      expect(includes(head, { hash, index: index + 1 }, path)).toBe(false);
      expect(includes(head, { hash: leafOf(octets(99)), index }, path)).toBe(false);
      expect(includes(head, { hash, index }, [...path, hash])).toBe(false);
      if (path.length > 0) expect(includes(head, { hash, index }, path.slice(1))).toBe(false);
    }
  }
});

test("every small tree continues every smaller one, and no other tree does", () => {
  for (const n of small) {
    const leaves = leavesOf(n);
    for (const m of small.slice(0, n + 1)) {
      const path = consistencyPath(m, leaves);
      expect(continues(headOf(m), headOf(n), path)).toBe(true);
      if (m === 0) continue;
      const forged = { treeSize: m, rootHash: leafOf(octets(77)) };
      expect(continues(forged, headOf(n), path)).toBe(false);
      expect(continues(headOf(m), { treeSize: n, rootHash: forged.rootHash }, path)).toBe(false);
      expect(continues(headOf(m), headOf(n), [...path, forged.rootHash])).toBe(false);
      if (m < n) expect(continues(headOf(n), headOf(m), path)).toBe(false);
    }
  }
});

test("proofs put together from tiles are the proofs of the tree", async () => {
  for (const [first, second] of [
    ...small.flatMap((n) => [[Math.floor(n / 2), n] as const, [Math.floor(n / 3), n] as const]),
    [255, 256],
    [256, 257],
    [256, 512],
    [257, 700],
    [511, 1025],
  ] as const) {
    const leaves = leavesOf(second);
    const read = async (tile: Tile) => tileHashes(tile.level, tile.index, tile.width, leaves);
    const hashes = (spans: ReturnType<typeof inclusionSpans>) =>
      Promise.all(spans.map((span) => spanHash(span, second, read)));
    const consistency = await hashes(consistencySpans(first, second));
    expect(plain(consistency)).toEqual(plain(consistencyPath(first, leaves)));
    if (first >= second) continue;
    const inclusion = await hashes(inclusionSpans(first, second));
    expect(plain(inclusion)).toEqual(plain(auditPath(first, leaves)));
  }
});

test("a tile that is shorter than its tree proves nothing", async () => {
  const read = async () => [];
  expect(spanHash({ from: 0, to: 4 }, 4, read)).rejects.toThrow("shorter than its tree");
});

test("c2sp.org/tlog-tiles: paths of tiles, whole and partial", () => {
  expect(tilePath({ level: 0, index: 1_234_067, width: 256 })).toBe("tile/0/x001/x234/067");
  expect(tilePath({ level: 2, index: 7, width: 5 })).toBe("tile/2/007.p/5");
});

const plain = (hashes: readonly Uint8Array[]) => hashes.map((hash) => hash.toHex());
