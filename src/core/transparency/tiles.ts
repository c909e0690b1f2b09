/**
 * Proofs out of tiles: which nodes of a tree prove something, in which tile they are, and how they
 * are put together.
 */

import { nodeHash } from "./merkle.ts";

/** Leaves from `from` up to but not including `to`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * A tile of hashes: its level, its place there, and how many of its 256 hashes the tree has
 * (c2sp.org/tlog-tiles).
 */
export interface Tile {
  readonly level: number;
  readonly index: number;
  /** 1..256. */
  readonly width: number;
}

/** Gives the hashes of a tile, exactly `width` of 32 octets. */
export type ReadTile = (tile: Tile) => Promise<readonly Uint8Array[]>;

/**
 * The subtrees whose heads are the inclusion proof of the leaf, from leaf to root (RFC 6962
 * §2.1.1).
 */
export function inclusionSpans(leaf: number, treeSize: number): readonly Span[] {
  return pathOf(leaf, 0, treeSize);
}

/**
 * The subtrees whose heads prove that the tree of `first` leaves begins that of `second` (RFC 6962
 * §2.1.2).
 */
export function consistencySpans(first: number, second: number): readonly Span[] {
  if (first === 0 || first >= second) return [];
  return subproof(first, 0, second, true);
}

/** The head of the subtree, read from tiles of a tree of `treeSize` leaves. */
export async function spanHash(span: Span, treeSize: number, read: ReadTile): Promise<Uint8Array> {
  const size = span.to - span.from;
  const half = splitOf(size);
  // A power of two that starts at a multiple of itself is one node of the tree.
  if (half * 2 === size || size === 1) return await nodeAt(span.from, size, treeSize, read);
  const middle = span.from + half;
  const left = await nodeAt(span.from, half, treeSize, read);
  return nodeHash(left, await spanHash({ from: middle, to: span.to }, treeSize, read));
}

/** The path a tile is served under, below the monitoring address. */
export function tilePath({ level, index, width }: Tile): string {
  const partial = width === tileWidth ? "" : `.p/${width}`;
  return `tile/${level}/${numbered(index)}${partial}`;
}

async function nodeAt(
  from: number,
  size: number,
  treeSize: number,
  read: ReadTile,
): Promise<Uint8Array> {
  const depth = Math.log2(size);
  const level = Math.floor(depth / tileHeight);
  const unit = tileWidth ** level;
  const first = from / unit;
  const index = Math.floor(first / tileWidth);
  const width = Math.min(tileWidth, Math.floor(treeSize / unit) - index * tileWidth);
  const hashes = await read({ level, index, width });
  const start = first % tileWidth;
  return headOf(hashes.slice(start, start + size / unit));
}

/** The head over 2^n hashes of equal height. */
function headOf(hashes: readonly Uint8Array[]): Uint8Array {
  const [only] = hashes;
  if (only === undefined) throw new RangeError("a tile is shorter than its tree");
  if (hashes.length === 1) return only;
  const middle = hashes.length / 2;
  return nodeHash(headOf(hashes.slice(0, middle)), headOf(hashes.slice(middle)));
}

function pathOf(leaf: number, from: number, to: number): readonly Span[] {
  if (to - from <= 1) return [];
  const middle = from + splitOf(to - from);
  return leaf < middle
    ? [...pathOf(leaf, from, middle), { from: middle, to }]
    : [...pathOf(leaf, middle, to), { from, to: middle }];
}

function subproof(first: number, from: number, to: number, whole: boolean): readonly Span[] {
  if (first === to) return whole ? [] : [{ from, to }];
  const middle = from + splitOf(to - from);
  return first <= middle
    ? [...subproof(first, from, middle, whole), { from: middle, to }]
    : [...subproof(first, middle, to, false), { from, to: middle }];
}

/** The largest power of two below `size`. */
function splitOf(size: number): number {
  let half = 1;
  while (half * 2 < size) half *= 2;
  return half;
}

/** `1234067` as `x001/x234/067`. */
function numbered(index: number): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, "0").match(/\d{3}/g) ?? [];
  return groups.map((group, at) => (at === groups.length - 1 ? group : `x${group}`)).join("/");
}

const tileHeight = 8;
/** Hashes in a full tile. */
export const tileWidth = 256;
