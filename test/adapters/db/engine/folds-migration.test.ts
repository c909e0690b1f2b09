/** A database from before rows were folded later keeps all it has, with everything folded. */

import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";

import { embeddedMigrations } from "#adapters/db/engine/migrations.ts";
import { openSqlite } from "#adapters/db/engine/sqlite.ts";
import { migrateSqlite } from "#adapters/db/engine/sqlite-migrate.ts";
import { tenantId } from "#core/ids.ts";
import type { Store } from "#domain/store.ts";
import { unfoldedStore } from "#test/support/stores/folded.ts";
import { fillInventory, home, inventoryRows } from "#test/support/stores/inventory-model.ts";
import * as make from "#test/support/stores/records.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";

setDefaultTimeout(120_000);

test("the migration folds everything, loses nothing, and no number is used again", async () => {
  const filled = await unfoldedStore();
  await fillInventory(filled.store);
  const before = await answers(filled.store);
  await filled.store.close();
  const { database, removed } = await olderDatabase(filled.database.target);

  const store = await database.open();
  expect(await answers(store)).toEqual(before);
  expect(await database.query("select 1 from certificates where not folded")).toEqual([]);
  expect(await database.query("select 1 from events where not folded")).toEqual([]);
  expect(await database.query("select name, through, removed from folds order by name")).toEqual([
    { name: "certificates", through: inventoryRows.length + 1, removed },
    { name: "events", through: inventoryRows.length + 1, removed: 0 },
  ]);
  const counted = `select ca_id, status, day, profile, number from certificate_counts
    where number > 0 order by 1, 2, 3, 4`;
  const real = `select ca_id, status, not_after / 86400000 as day, profile, count(*) as number
    from certificates where kind = 'leaf' group by 1, 2, 3, 4 order by 1, 2, 3, 4`;
  expect(await database.query(counted)).toEqual(await database.query(real));

  await make.issue(store, make.certificate());
  const [last] = await database.query("select max(ordinal) as ordinal from certificates");
  expect(last).toEqual({ ordinal: removed + 1 });
  await store.close();
  expect(await database.query("select 1 from certificates where not folded")).toEqual([]);
});

/** One with the schema of before, and the rows of `from`; its last row, of that number, is gone. */
async function olderDatabase(from: string) {
  const database = sqliteDatabase();
  const options = { driver: "sqlite", path: database.target, busy_timeout_ms: 5000 } as const;
  const known = embeddedMigrations("sqlite");
  const folds = known.findIndex(({ statements }) =>
    statements.some((one) => one.includes("`folds`")),
  );
  const engine = openSqlite(options);
  await migrateSqlite(engine, options, async () => {}, known.slice(0, folds));
  await engine.close();
  const older = new Database(database.target);
  older.run("attach ? as filled", [from]);
  const tables = older.query(
    "select name from sqlite_schema where type = 'table' and sql not like '%virtual%'",
  );
  for (const { name } of tables.all() as { name: string }[]) {
    // What the triggers of before fill, and what SQLite and the migrations keep themselves.
    if (
      /^sqlite_|^certificate_(search|counts)|^tenant_counts$|^schema_migrations$|^certificates$/.test(
        name,
      )
    )
      continue;
    const columns = columnsOf(older, "main", name).filter((one) =>
      columnsOf(older, "filled", name).includes(one),
    );
    const listed = columns.map((column) => `"${column}"`).join(", ");
    older.run(`delete from "${name}"`);
    older.run(`insert into main."${name}" (${listed}) select ${listed} from filled."${name}"`);
  }
  // As the triggers of before saw them: good first, then what they have become.
  const columns = columnsOf(older, "main", "certificates");
  const fresh = columns
    .map((column) => (column === "status" ? "'good'" : `"${column}"`))
    .join(", ");
  older.run(`insert into main.certificates select ${fresh} from filled.certificates`);
  older.run(`update main.certificates set status = f.status from filled.certificates f
    where f.ordinal = main.certificates.ordinal and f.status <> 'good'`);
  const removed = inventoryRows.length + 5;
  older.run(`insert into certificates select ${removed}, id, ca_id, tenant, '99', serial_hex, 'serving', subject, common_name,
    sans, search, profile, certificate, not_before, not_after, status, revoked_at, reason, requested_by, created_at,
    spki_sha256, marker, identity, ct, crl_partition, crl_url from certificates where ordinal = 2`);
  older.run("delete from certificates where ordinal = ?", [removed]);
  older.close();
  return { database, removed };
}

const columnsOf = (database: Database, schema: string, table: string): string[] =>
  (database.query(`pragma ${schema}.table_info("${table}")`).all() as { name: string }[]).map(
    ({ name }) => name,
  );

async function answers({ read }: Store) {
  const pages: unknown[] = [];
  const filters = [
    {},
    { text: "host-1" },
    { text: "a" },
    { profile: "rare" },
    { status: "revoked" },
    { serialPrefix: "1" },
  ] as const;
  for (const filter of filters) {
    pages.push(await read.certificates.page({ caId: home, now: make.noon, ...filter }, 500));
  }
  const events = await read.audit.events({ reach: "platform", caId: home }, 500);
  const { tenant } = make.certificate();
  return {
    pages,
    events,
    outstanding: await read.certificates.outstanding(home, make.noon),
    usage: await read.tenants.usage(tenantId(tenant), 0, make.noon),
    chain: await read.audit.eventsAfter(0, 1000),
  };
}
