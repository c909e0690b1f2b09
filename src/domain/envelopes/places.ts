/**
 * WHAT IS SEALED: every kind of secret the database holds, with the table and column its envelope
 * is bound to.
 */

/** Columns: table, column. The row id is the value's own. */
export const sealedKinds = {
  /** Secrets of the instance itself, by name. */
  instance: ["instance", "value"],
  /** The one-time secret of a parked token, by approval. */
  approval: ["approvals", "secret"],
  /** The key of external account bindings, by credential. */
  eab: ["acme_eabs", "hmac_key"],
} as const satisfies Record<string, readonly [table: string, column: string]>;

/** Table, column and row of one sealed value, as text; also its context (KEK-2). */
export type Place = string & { readonly brand: "Place" };

/**
 * The place of the row `id`; no two rows of any kind share one, because tables and columns have no
 * slash.
 */
export function placeOf(kind: keyof typeof sealedKinds, id: string): Place {
  return [...sealedKinds[kind], id].join("/") as Place; // Made of the table and nothing else.
}
