/** All a running instance has stored, so that a test can say that nothing changed. */

import { Database } from "bun:sqlite";
import { join } from "node:path";

import type { Instance } from "./instance.ts";

/**
 * Every row of the database but for those that publishing and the clock add by themselves, and what
 * is worked out from the others behind their commit.
 */
export function stateOf(instance: Instance): Readonly<Record<string, string>> {
  const db = new Database(join(instance.dataDir, "pkid.db"), { readonly: true });
  try {
    const all = "SELECT name FROM sqlite_master WHERE type = 'table'";
    const tables = db.query<{ name: string }, []>(all).all();
    const kept = tables.map(({ name }) => name).filter((name) => !ownWork.test(name));
    const rows = (name: string) => db.query(`SELECT * FROM "${name}"`).all().map(bytesShown);
    const ofPeople = "SELECT * FROM events WHERE actor NOT LIKE 'system:%'";
    const events = db.query(ofPeople).all().map(bytesShown);
    return {
      ...Object.fromEntries(kept.map((name) => [name, JSON.stringify(rows(name))])),
      events: JSON.stringify(events),
    };
  } finally {
    db.close();
  }
}

const ownWork =
  /^(sqlite_|access_log$|crl_|ledger$|heads$|events$|folds$|certificate_counts$|day_counts$|tenant_counts$|certificate_search)/;

const bytesShown = (row: unknown) =>
  Object.entries(row as Record<string, unknown>) // A row of SQLite.
    .filter(([name]) => name !== "folded" && name !== "certificate_ordinal")
    .map(([name, value]) => (value instanceof Uint8Array ? [name, value.toHex()] : [name, value]));
