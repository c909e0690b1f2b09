/**
 * THE CATALOGUE: every row of a table of operations with what answers it. Routes, description,
 * remote procedures and the pipeline are derived from it, so that no two of them can differ.
 */

import { assert } from "#core/problems.ts";
import { type Mounted, mount } from "#domain/access/mounted.ts";
import type { Definition } from "#domain/access/operation.ts";
import type { Operation, OperationName } from "#operations";
import type { DerHandler, MessageHandler, PublicHandler } from "./public.ts";

/** What answers a row: a definition behind the pipeline, a message to it, octets for anybody. */
export type Answering = Definition | MessageHandler | PublicHandler | DerHandler;

/** One row with what answers it. */
export type Entry =
  | { readonly kind: "mounted"; readonly mounted: Mounted; readonly row: Operation }
  | {
      readonly kind: "message";
      readonly mounted: Mounted;
      readonly handler: MessageHandler;
      readonly row: Operation;
    }
  | {
      readonly kind: "public";
      readonly handler: PublicHandler | DerHandler;
      readonly row: Operation;
    };

/** One instance's operations. */
export class Catalog {
  readonly #entries = new Map<OperationName, Entry>();

  /** A row that nothing answers is refused. */
  constructor(
    table: Readonly<Record<string, Operation>>,
    answering: Readonly<Record<string, Answering>>,
  ) {
    for (const [key, row] of Object.entries(table)) {
      const name = key as OperationName; // The table's own key, or one that a test has added.
      const handler = answering[key];
      assert(handler !== undefined, "every row is answered");
      this.#entries.set(name, entryOf(name, row, handler));
    }
  }

  /** In the order of the table. */
  get entries(): ReadonlyMap<OperationName, Entry> {
    return this.#entries;
  }

  entry(name: OperationName): Entry {
    const entry = this.#entries.get(name);
    assert(entry !== undefined, "what is matched is in the table");
    return entry;
  }

  row(name: OperationName): Operation {
    return this.entry(name).row;
  }

  /** The operation behind the pipeline; undefined for a name of none, or of a public one. */
  mounted(name: string): Mounted | undefined {
    const entry = this.#entries.get(name as OperationName); // Absent for what is no name.
    return entry?.kind === "mounted" ? entry.mounted : undefined;
  }
}

function entryOf(name: OperationName, row: Operation, handler: Answering): Entry {
  if (typeof handler === "function") return { kind: "public", handler, row };
  const heard = "hear" in handler;
  assert(heard === (row.caller === "inside"), "who asks is known as the row says");
  if (!heard) return { kind: "mounted", mounted: mount(name, row, handler), row };
  return { kind: "message", mounted: mount(name, row, handler.definition), handler, row };
}
