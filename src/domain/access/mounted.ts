/** Operations with their rows: the one catalogue that every caller's codec is derived from. */

import type { Fields } from "#core/shape.ts";
import { namesIn, type Operation, type OperationName, routesOf } from "#operations";
import type { Definition } from "./operation.ts";

/** One operation: its row of the table and its definition. */
export interface Mounted {
  readonly name: OperationName;
  readonly row: Operation;
  readonly definition: Definition;
  /** Every member it takes, those of the target first. */
  readonly members: Fields;
  /** The same by where JSON has them. */
  readonly path: Fields;
  readonly query: Fields;
  /** By their own names; JSON has them under those with hyphens. */
  readonly header: Fields;
  /** Undefined where none is looked for. */
  readonly body: Fields | undefined;
}

/** Puts a definition behind its row. */
export function mount(name: OperationName, row: Operation, definition: Definition): Mounted {
  const members = { ...definition.target.members, ...definition.input };
  const [route] = routesOf(row);
  const { method = "", path = "" } = route ?? {};
  const named = new Set(namesIn(path));
  const headers = new Set(row.headers);
  const others = pick(members, (member) => !named.has(member) && !headers.has(member));
  const inQuery = method === "GET" || row.in === "query";
  return {
    name,
    row,
    definition,
    members,
    path: pick(members, (member) => named.has(member)),
    query: inQuery ? others : {},
    header: pick(members, (member) => headers.has(member)),
    body: method === "GET" ? undefined : inQuery ? {} : others,
  };
}

const pick = (fields: Fields, wanted: (member: string) => boolean): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([member]) => wanted(member)));
