/** Tests a store behind PgBouncer: session pooling works, the other modes are refused by name. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";

import { openStore } from "#adapters/db/open.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import type { Store } from "#domain/store.ts";
import { openMovingPath } from "#test/support/servers/moving-path.ts";
import { hasPgBouncer, startPgBouncer } from "#test/support/servers/pgbouncer.ts";
import { type PostgresPair, startPostgresPair } from "#test/support/servers/postgres-pair.ts";
import { draft, noon } from "#test/support/stores/records.ts";
import { postgresLimits } from "#test/support/stores/stores.ts";
import { until } from "#test/support/until.ts";

setDefaultTimeout(120_000);

describe.skipIf(!hasPgBouncer)("a store behind PgBouncer", () => {
  let pair: PostgresPair;

  beforeAll(async () => {
    pair = await startPostgresPair("pkid");
    await (await openPool(buildAddress(pair.primary))).close();
  });

  afterAll(() => pair?.stop());

  test.each(["transaction", "statement"] as const)(
    "a store does not open in %s mode",
    async (mode) => {
      await using pooler = await startPgBouncer(buildAddress(pair.primary), mode);
      for (let attempt = 0; attempt < 3; attempt++) {
        await expect(openPool(pooler.dsn)).rejects.toMatchObject({
          reason: "unusable_server",
          message: expect.stringContaining("pooler"),
        });
      }
    },
  );

  test("a store works in session mode and follows a switch-over without a restart of either", async () => {
    const path = await openMovingPath(pair.primary);
    await using pooler = await startPgBouncer(buildAddress(path.port), "session");
    const store = await openPool(pooler.dsn);
    const write = (value: string) => store.atomically((tx) => tx.instance.setValue("name", value));
    await write("first");
    const reads = () =>
      Promise.all(Array.from({ length: 8 }, () => store.read.instance.value("name")));
    expect(new Set(await reads())).toEqual(new Set(["first"]));
    expect(await store.exclusively("lease", async () => "leased")).toBe("leased");
    await receiveEvent(store, pooler.dsn);
    await pair.fence();
    await pair.promote();
    // The pooler keeps its sessions on the old primary for new clients.
    await until(async () => !(await isServed(store)));
    path.move(pair.primary);
    await until(() => isServed(store));
    await write("second");
    expect(new Set(await reads())).toEqual(new Set(["second"]));
    await receiveEvent(store, buildAddress(pair.primary));
    await store.close();
    path.close();
  });
});

const buildAddress = (port: number) => `postgres://pkid@127.0.0.1:${port}/pkid`;

const openPool = (dsn: string) =>
  openStore(
    { driver: "postgres", dsn, ...postgresLimits, migrate: true },
    { clock: systemClock, random: systemRandom },
  );

const isServed = (store: Store) =>
  store.ping().then(
    () => true,
    () => false,
  );

/** Appends an event as another process and waits until the store receives it. */
async function receiveEvent(store: Store, dsn: string): Promise<void> {
  const other = await openPool(dsn);
  let count = 0;
  const unsubscribe = store.onEvents((events) => {
    count += events.length;
  });
  await other.atomically((tx) => tx.audit.appendEvent(draft(), noon));
  await until(() => count > 0);
  unsubscribe();
  await other.close();
}
