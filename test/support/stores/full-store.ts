/** A database with rows in every table, of the greatest and strangest values their types allow. */

import { Database } from "bun:sqlite";

import { carried, insertRows, type Row } from "#adapters/db/move/rows.ts";
import { caId } from "#core/ids.ts";

import * as make from "./records.ts";
import { connectionOn, type DatabaseUnderTest, sqliteDatabase } from "./stores.ts";

/** The CA of its certificates. */
export const home = caId("home");

/** With certificates, both chains, and rows of all that types allow in every other table. */
export async function fullStore(): Promise<DatabaseUnderTest> {
  const database = sqliteDatabase();
  const store = await database.open();
  for (let n = 0; n < 5; n++) await make.issue(store, make.certificate({ caId: home }));
  await store.atomically((tx) => make.intend(tx, make.intentFor(make.certificate())));
  await store.close();
  const file = new Database(database.target);
  const connection = connectionOn(file);
  const { t } = connection;
  const own = [t.certificates, t.events, t.ledger, t.heads, t.openIntents, t.migrations, t.folds];
  const derived = [
    t.certificateCounts,
    t.dayCounts,
    t.revocationCounts,
    t.tenantCounts,
    t.accessLog,
  ];
  const skipped = new Set<unknown>([...own, ...derived]);
  for (const table of Object.values(t).filter((one) => !skipped.has(one))) {
    const one = carried(connection, table, ["folded", "certificate_ordinal"]);
    await insertRows(connection, one, [made(one, 1), made(one, 2)]);
  }
  file.close();
  return database;
}

/** A row of the greatest, strangest values its columns take, another for each number. */
function made({ columns }: ReturnType<typeof carried>, number: number): Row {
  const value = (column: (typeof columns)[number][1]) => {
    if (!column.notNull && number === 2) return null;
    const name = `${column.name} ${number} "ä\u{1f511}"'\\\n`;
    if (column.dataType === "boolean") return number === 1;
    if (column.dataType === "number") return 2 ** 53 - 1 - number;
    if (column.dataType === "custom") {
      return column.getSQLType() === "blob" ? Buffer.from([0, number, 255]) : [name, ""];
    }
    return name;
  };
  return Object.fromEntries(columns.map(([member, column]) => [member, value(column)]));
}

/** Every row of every table, those apart that differ from one database to the next. */
export function allRows({ target }: Pick<DatabaseUnderTest, "target">) {
  const file = new Database(target, { readonly: true });
  const tables = file.query("select name from sqlite_schema where type = 'table'").values();
  const kept = tables.map(([name]) => String(name)).filter((name) => !ownTables.test(name));
  const rows = kept.map((name) => [name, file.query(`select * from "${name}"`).values().sort()]);
  file.close();
  return Object.fromEntries(rows);
}

const ownTables = /^(sqlite_|folds$|heads$|certificate_search|instance$)/;
