/** Walks both chains through the rows of an archive, as they come. */

import { type AuditEvent, genesis, violation } from "#core/audit/chain.ts";
import { type LedgerEntry, ledgerHash } from "#core/audit/ledger.ts";
import { ArchiveUnfit, type Manifest } from "./archive.ts";
import type { Piece } from "./piece.ts";

/** Where both are; throws `ArchiveUnfit` at the first link that does not hold. */
export class ArchivedChains {
  #event: Pick<AuditEvent, "seq" | "hash"> = genesis;
  #entry: Pick<LedgerEntry, "number" | "hash"> = { number: genesis.seq, hash: genesis.hash };

  /** Rows of any table, those of one table in the order of its key. */
  take(table: string, piece: Piece): void {
    if (table === "events") for (const event of rowsOf<AuditEvent>(piece)) this.#link(event);
    if (table === "ledger") for (const entry of rowsOf<LedgerEntry>(piece)) this.#enter(entry);
  }

  /** Both end where the manifest says. */
  end({ audit, ledger }: Pick<Manifest, "audit" | "ledger">): void {
    const events = this.#event.seq === audit.seq && this.#event.hash === audit.hash;
    if (!events) throw broken("the end of the audit chain", "not where the manifest says");
    const entries = this.#entry.number === ledger.number && this.#entry.hash === ledger.hash;
    if (!entries) throw broken("the end of the ledger", "not where the manifest says");
  }

  #link(event: AuditEvent): void {
    const fault = violation(this.#event, event);
    if (fault !== undefined) throw broken(`event ${this.#event.seq + 1}`, fault);
    this.#event = event;
  }

  #enter(entry: LedgerEntry): void {
    const { number, hash } = this.#entry;
    const linked = entry.number === number + 1 && entry.prevHash === hash;
    if (!linked || ledgerHash(entry) !== entry.hash) {
      throw broken(`ledger entry ${number + 1}`, "link or hash");
    }
    this.#entry = entry;
  }
}

function* rowsOf<T>({ columns, rows }: Piece): Generator<T> {
  const members = columns.map((column) =>
    column.replaceAll(/_([a-z0-9])/g, (_, one) => one.toUpperCase()),
  );
  for (const row of rows) {
    const made: Record<string, string | number | null> = {};
    for (let at = 0; at < members.length; at++) made[members[at] ?? ""] = row[at] ?? null;
    // Whatever it holds beside texts and numbers does not recompute.
    yield texts(made) as T;
  }
}

/** A null stands where a text must, and hashes as nothing that was written. */
function texts(row: Record<string, string | number | null>): unknown {
  for (const member of Object.keys(row)) row[member] ??= "\u0000";
  return row;
}

const broken = (where: string, what: string) =>
  new ArchiveUnfit(`The archive does not verify at ${where}: ${what}.`);
