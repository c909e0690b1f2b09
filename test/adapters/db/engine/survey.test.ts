/** The look at the tables for whoever helps, on both databases, also where a table is missing. */

import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";

import { newestEventsOf, survey } from "#adapters/db/engine/survey.ts";
import type { StoreOptions } from "#adapters/db/open.ts";
import { certificate, issue } from "#test/support/stores/records.ts";
import { type SharedPostgres, sharePostgres } from "#test/support/servers/postgres.ts";
import { postgresDatabase, postgresLimits, sqliteDatabase } from "#test/support/stores/stores.ts";

setDefaultTimeout(60_000);

let server: SharedPostgres;
beforeAll(async () => {
  server = await sharePostgres();
});

const addressOf = (driver: "sqlite" | "postgres", target: string): StoreOptions =>
  driver === "sqlite"
    ? { driver, path: target, busy_timeout_ms: 5000 }
    : { driver, dsn: target, migrate: false, ...postgresLimits };

describe.each([
  ["sqlite", async () => sqliteDatabase()],
  ["postgres", () => postgresDatabase(server)],
] as const)("on %s", (driver, create) => {
  test("tables, states and newest events are told while the store is in use", async () => {
    const database = await create();
    const store = await database.open();
    try {
      await issue(store, certificate());
      await issue(store, certificate());
      const address = addressOf(driver, database.target);
      if (driver === "postgres") await database.tamper("analyze");
      const { tables, states } = await survey(address);
      expect(tables.find(({ table }) => table === "certificates")).toMatchObject({ rows: 2 });
      expect(states.filter(({ fault }) => fault !== undefined)).toEqual([]);
      const events = await newestEventsOf(address, 1);
      expect(events).toHaveLength(1);
      expect(Number(events[0]?.seq)).toBeGreaterThan(1);
      expect(events[0]).toMatchObject({ action: "cert.issue" });
    } finally {
      await store.close();
    }
  });

  test("a table that is missing is told, and ends nothing", async () => {
    const database = await create();
    await (await database.open()).close();
    await database.tamper("drop table bulk_runs");
    const { states, tables } = await survey(addressOf(driver, database.target));
    expect(states.filter(({ fault }) => String(fault).includes("bulk_runs"))).toHaveLength(1);
    expect(tables.length).toBeGreaterThan(20);
  });
});
