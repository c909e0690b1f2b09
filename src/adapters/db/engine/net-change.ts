/** What a row of changes to intents and certificates comes to, so that each row is written once. */

import { assert } from "#core/problems.ts";

import type { Value } from "./connection.ts";
import type { OpenRow } from "./open-rows.ts";

/** One change, in the order in which units make them. */
export type Unsaved =
  | { readonly kind: "taken"; readonly row: OpenRow }
  | {
      readonly kind: "left";
      readonly row: OpenRow;
      /** What its serial came to, as the driver takes it. */
      readonly certificate?: readonly Value[];
      readonly intent?: readonly Value[];
    }
  /** A certificate without an intent of its own. */
  | { readonly kind: "adopted"; readonly certificate: readonly Value[] }
  | { readonly kind: "opened"; readonly opId: string; readonly number: number }
  | { readonly kind: "closed"; readonly opId: string };

/** The operation a change is about; undefined for what none of ours has brought about. */
export const operationOf = (change: Unsaved): string | undefined => {
  if (change.kind === "adopted") return undefined;
  return "row" in change ? change.row.opId : change.opId;
};

/**
 * Serial and ledger entry of an operation share one open row, whichever comes first; it goes when
 * both are settled. A row that comes and goes in between is never written.
 */
export class NetChange {
  readonly #owner: number;
  readonly #inserted = new Map<string, OpenRow>();
  readonly #gone = new Map<string, OpenRow>();
  readonly #closed = new Set<string>();
  readonly intents: (readonly Value[])[] = [];
  readonly certificates: (readonly Value[])[] = [];

  constructor(owner: number) {
    this.#owner = owner;
  }

  /** Rows to be added. */
  get inserted(): readonly OpenRow[] {
    return [...this.#inserted.values()];
  }

  /** Stored rows to be removed. */
  get gone(): readonly OpenRow[] {
    return [...this.#gone.values()];
  }

  /** Operations whose stored rows have no ledger entry open any more. */
  get closed(): readonly string[] {
    return [...this.#closed];
  }

  /** The row of an operation that has taken a serial and is not stored yet. */
  open(opId: string): OpenRow | undefined {
    const row = this.#inserted.get(opId);
    return row?.serial === "" ? undefined : row;
  }

  /** True when the stored row of this operation goes. */
  left(opId: string): boolean {
    return this.#gone.has(opId);
  }

  add(change: Unsaved): void {
    if (change.kind === "taken") this.#take(change.row);
    else if (change.kind === "left") this.#leave(change);
    else if (change.kind === "adopted") this.certificates.push(change.certificate);
    else if (change.kind === "opened") this.#openEntry(change.opId, change.number);
    else this.#closeEntry(change.opId);
  }

  #take(row: OpenRow): void {
    const known = this.#inserted.get(row.opId);
    assert(known === undefined || known.serial === "", "an operation takes one serial");
    this.#inserted.set(row.opId, { ...row, number: known?.number ?? null });
  }

  #leave({ row, certificate, intent }: Extract<Unsaved, { kind: "left" }>): void {
    const { opId } = row;
    if (certificate !== undefined) this.certificates.push(certificate);
    if (intent !== undefined) this.intents.push(intent);
    const unsaved = this.open(opId);
    let { number } = unsaved ?? row;
    if (unsaved !== undefined) this.#inserted.delete(opId);
    else {
      this.#gone.set(opId, row);
      if (number !== null && this.#closed.delete(opId)) number = null;
    }
    if (number !== null) this.#openEntry(opId, number);
  }

  #openEntry(opId: string, number: number): void {
    const row = this.#inserted.get(opId) ?? { ...withoutSerial, opId, owner: this.#owner };
    this.#inserted.set(opId, { ...row, number });
  }

  #closeEntry(opId: string): void {
    const row = this.#inserted.get(opId);
    if (row === undefined) this.#closed.add(opId);
    else if (row.serial === "") this.#inserted.delete(opId);
    else this.#inserted.set(opId, { ...row, number: null });
  }
}

const withoutSerial = {
  caId: "",
  serial: "",
  purpose: "",
  tbsDigest: "",
  requestedBy: "",
  createdAt: 0,
};
