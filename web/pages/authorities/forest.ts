/** Puts CAs in the order of a tree: each below the one that signed it, siblings by label. */

import type { Ca } from "./ca.ts";

export interface TreeRow {
  readonly ca: Ca;
  /** 1 for what stands under nobody who is listed. */
  readonly level: number;
  /** True where it has a parent that is not among those listed. */
  readonly severed: boolean;
}

/** Every CA once, whatever is listed. */
export function treeOf(cas: readonly Ca[]): readonly TreeRow[] {
  const ids = new Set(cas.map(({ id }) => id));
  const below = Map.groupBy(cas, ({ parent_id }) =>
    parent_id !== undefined && ids.has(parent_id) ? parent_id : "",
  );
  const rows: TreeRow[] = [];
  // A list of what is still to be told instead of a call in a call: trees may be deep.
  const waiting = siblings(below.get("")).map((ca) => ({ ca, level: 1 }));
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { ca, level } = next;
    rows.push({ ca, level, severed: level === 1 && ca.parent_id !== undefined });
    waiting.unshift(...siblings(below.get(ca.id)).map((one) => ({ ca: one, level: level + 1 })));
  }
  return rows;
}

function siblings(cas: readonly Ca[] = []): readonly Ca[] {
  return cas.toSorted((a, b) => (a.label < b.label ? -1 : 1));
}
