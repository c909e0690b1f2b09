/** `pkid db check --deep` counts rows that break what their tables promise, in either database. */

import { beforeAll, describe, expect, test } from "bun:test";

import { violations } from "#adapters/db/engine/diagnosis.ts";
import type { StoreOptions } from "#adapters/db/open.ts";
import { promisingTables } from "#adapters/db/tables/row-rules.ts";
import { type SharedPostgres, sharePostgres } from "#test/support/servers/postgres.ts";
import {
  type DatabaseUnderTest,
  postgresDatabase,
  postgresLimits,
  sqliteDatabase,
} from "#test/support/stores/stores.ts";

let server: SharedPostgres;
beforeAll(async () => {
  server = await sharePostgres();
}, 60_000);

const optionsOf = ({ target }: DatabaseUnderTest): StoreOptions =>
  target.startsWith("postgres")
    ? { driver: "postgres", dsn: target, ...postgresLimits, migrate: true }
    : { driver: "sqlite", path: target, busy_timeout_ms: 5000 };

describe.each([
  ["SQLite", async () => sqliteDatabase()],
  ["PostgreSQL", async () => await postgresDatabase(server)],
] as const)("on %s", (_, make) => {
  test("an empty database breaks nothing, and rows of ACME that do not fit are counted", async () => {
    const database = await make();
    await (await database.open()).close();
    expect(await violations(optionsOf(database))).toEqual([]);
    await database.tamper("insert into acme_nonces (id, expires_at) values ('00', 1)");
    await database.tamper(
      "insert into acme_account_keys (account, thumbprint, spki_sha256, number) values ('a', 't', 's', 1), ('b', 't', 's', 1)",
    );
    await database.tamper(
      `insert into acme_eabs (id, directory, ca_id, tenant, name, description, dns_suffixes, ip_ranges, allow_wildcards, any_identifier, max_uses, uses, created_by, created_at, last_used_at)
       values ('eab_1', 'default', 'ca', 'default', '', '', '[]', '[]', false, true, 1, 2, 'root', 1, 1)`,
    );
    await database.tamper(
      `insert into acme_replacements (id, ca_id, tenant, selection, starts_at, ends_at, per_second, state, created_by, created_at, total, replaced, revoked)
       values ('r', 'ca', 'default', 'all', 1, 2, '1', 'planned', 'root', 1, 0, 0, 0)`,
    );
    const wrong = (table: string, says: string, count: number) =>
      `Rows of ${table} that are not what they should be (${says}): ${count}.`;
    expect(await violations(optionsOf(database))).toEqual([
      wrong("acme_nonces", "it is none that was made here", 1),
      wrong("acme_account_keys", "its account does not exist", 2),
      wrong("acme_eabs", "it was used more often than it may be", 1),
      wrong("acme_replacements", "its state is none there is", 1),
    ]);
    // As in the schema of before ACME.
    const tables = promisingTables.filter((name) => name.startsWith("acme_"));
    for (const table of tables) await database.tamper(`drop table ${table}`);
    expect([tables.length, await violations(optionsOf(database))]).toEqual([11, []]);
  }, 30_000);
});
