/** Puts CAs in the order of a tree: each below the one that signed it, siblings by label. */

import type { Ca } from "./ca.ts";

export interface TreeRow {
  readonly ca: Ca;
  /** 1 for what stands under nobody who is listed. */
  readonly level: number;
  /** True where it has a parent that is not among those listed. */
  readonly severed: boolean;
  /** True for one of another page, which stands there for those below it. */
  readonly elsewhere: boolean;
  /** How many of the rows stand right below it. */
  readonly below: number;
}

/**
 * Every CA once, whatever is listed; `above` are of other pages, and stand there for those below
 * them here alone: they may have been found for a list that is not shown any more.
 */
export function treeOf(cas: readonly Ca[], above: readonly Ca[] = []): readonly TreeRow[] {
  const listed = new Set(cas.map(({ id }) => id));
  const needed = idsAbove(cas, above);
  const all = cas.concat(above.filter(({ id }) => needed.has(id) && !listed.has(id)));
  const ids = new Set(all.map(({ id }) => id));
  const below = Map.groupBy(all, ({ parent_id }) =>
    parent_id !== undefined && ids.has(parent_id) ? parent_id : "",
  );
  const rows: TreeRow[] = [];
  // A list of what is still to be told instead of a call in a call: trees may be deep.
  const waiting = siblings(below.get("")).map((ca) => ({ ca, level: 1 }));
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { ca, level } = next;
    const children = siblings(below.get(ca.id));
    const severed = level === 1 && ca.parent_id !== undefined;
    rows.push({ ca, level, severed, elsewhere: !listed.has(ca.id), below: children.length });
    waiting.unshift(...children.map((one) => ({ ca: one, level: level + 1 })));
  }
  return rows;
}

/** The ids of whoever stands above some of these, as far as the others tell. */
function idsAbove(cas: readonly Ca[], others: readonly Ca[]): ReadonlySet<string> {
  const parents = new Map(cas.concat(others).map(({ id, parent_id }) => [id, parent_id]));
  const above = new Set<string>();
  for (const { parent_id } of cas) {
    let id = parent_id;
    while (id !== undefined && !above.has(id)) {
      above.add(id);
      id = parents.get(id);
    }
  }
  return above;
}

/** The ids of those that stand above some of these and are not among them. */
export function missingAbove(cas: readonly Ca[]): readonly string[] {
  const ids = new Set(cas.map(({ id }) => id));
  const missing = cas.flatMap(({ parent_id }) =>
    parent_id === undefined || ids.has(parent_id) ? [] : [parent_id],
  );
  return [...new Set(missing)];
}

function siblings(cas: readonly Ca[] = []): readonly Ca[] {
  return cas.toSorted((a, b) => (a.label < b.label ? -1 : 1));
}
