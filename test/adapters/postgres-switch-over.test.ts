/** Tests a store whose database address leads to another server, or to one that takes no writes. */

import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";

import { openStore } from "#adapters/db/open.ts";
import { Heartbeat } from "#adapters/db/engine/postgres-heartbeat.ts";
import { Link, type Patience } from "#adapters/db/engine/postgres-link.ts";
import { SharedServer } from "#adapters/db/engine/postgres-server.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import type { Store } from "#domain/store.ts";
import { type MovingPath, openMovingPath } from "#test/support/servers/moving-path.ts";
import { type PostgresPair, startPostgresPair } from "#test/support/servers/postgres-pair.ts";
import { draft, noon } from "#test/support/stores/records.ts";
import { postgresLimits } from "#test/support/stores/stores.ts";
import { until } from "#test/support/until.ts";

setDefaultTimeout(120_000);

let pair: PostgresPair;
let path: MovingPath;
let store: Store;
const messages: string[] = [];

const timeouts: Patience = {
  connectMs: 2000,
  statementMs: 4000,
  beatEveryMs: 200,
  beatMs: 1500,
  unconfirmedMs: 1000,
  leaseMs: 60_000,
};

beforeAll(async () => {
  pair = await startPostgresPair("pkid");
  path = await openMovingPath(pair.primary);
  await pair.query(pair.primary, "create role ordinary login");
  store = await openByPort(path.port);
  for (const objects of ["schema", "all tables in schema", "all sequences in schema"]) {
    await pair.query(pair.primary, `grant all on ${objects} public to ordinary`, "pkid");
  }
});

afterEach(async () => {
  path.move(pair.primary);
  await until(isServed);
});

afterAll(async () => {
  await store?.close();
  path?.close();
  await pair?.stop();
});

test("a store serves nothing from a primary that became read-only, and recovers on its successor", async () => {
  await write("first");
  const open = path.size;
  expect(open).toBeGreaterThan(0);
  await pair.fence();
  await pair.promote();
  // The connections to the old primary are open, and its address still leads there.
  const reason = { code: "storage_unavailable", message: expect.stringContaining("read-only") };
  await expect(store.read.revocations.sequence()).rejects.toMatchObject(reason);
  await expect(write("refused")).rejects.toMatchObject({ code: "storage_unavailable" });
  await expect(store.ping()).rejects.toMatchObject(reason);
  path.move(pair.primary);
  await until(isServed);
  await write("second");
  expect(await readName(pair.primary)).toBe("second");
  await store.ping();
  await receivesEvents();
  await pair.rejoin();
});

test("a heartbeat leaves a read-only primary, also over a connection that was opened while the others were closed", async () => {
  const server = new SharedServer(false);
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
  let opened = 0;
  const open = async () => {
    const { port } = path;
    const dsn = `postgres://pkid@127.0.0.1:${port}/pkid`;
    const link = await Link.open({ dsn, patience: timeouts, onReadOnly: () => {} });
    opened += 1;
    await isReleased;
    return link;
  };
  const { beatMs: timeoutMs, unconfirmedMs } = timeouts;
  const heartbeat = new Heartbeat({ open, server, timeoutMs, unconfirmedMs });
  const first = heartbeat.beat();
  await until(() => opened === 1);
  heartbeat.disconnect();
  release();
  await first;
  await pair.fence();
  await expect(heartbeat.beat()).rejects.toMatchObject({ reason: "read_only" });
  await pair.promote();
  path.move(pair.primary);
  server.reset();
  await heartbeat.beat();
  heartbeat.close();
  await pair.rejoin();
});

test("a store leaves a primary that still takes writes as soon as its address leads to another", async () => {
  await write("third");
  await pair.promote();
  path.move(pair.primary);
  const { length } = messages;
  await until(() => messages.slice(length).includes("the database server is unusable"));
  await until(isServed);
  await write("fourth");
  expect(await readName(pair.primary)).toBe("fourth");
  expect(await readName(pair.standby)).toBe("third");
  await pair.rejoin();
});

test("a store whose address leads to a standby for some connections refuses until there is one server", async () => {
  await write("fifth");
  path.move(pair.primary, pair.standby);
  await until(async () => !(await isServed()));
  const { length } = messages;
  await until(() => messages.length > length + 1);
  await expect(Promise.all(Array.from({ length: 20 }, () => store.ping()))).rejects.toMatchObject({
    message: expect.stringMatching(/standby|more than one|does not/),
  });
  path.move(pair.primary);
  await until(isServed);
  await write("sixth");
});

test("a store does not open on a standby or on a read-only server", async () => {
  await expect(openByPort(pair.standby)).rejects.toMatchObject({
    reason: "unusable_server",
    message: "The database server is a standby and accepts no writes.",
  });
  const readOnly = "alter database pkid set default_transaction_read_only = on";
  await pair.query(pair.primary, readOnly);
  try {
    await expect(openByPort(pair.primary)).rejects.toMatchObject({
      reason: "unusable_server",
      message: expect.stringContaining("default_transaction_read_only"),
    });
    // A setting of the database reaches new connections only.
    await until(async () => !(await isServed()));
  } finally {
    await pair.query(pair.primary, readOnly.replace("= on", "= off"));
  }
  await until(isServed);
});

test("a store remains available while its role has too many connections, but not without a login", async () => {
  const ordinary = await openByPort(path.port, "ordinary");
  const refuse = (text: string) => pair.query(pair.primary, `alter role ordinary ${text}`);
  const ping = () =>
    ordinary.ping().then(
      () => true,
      () => false,
    );
  const beats = "select 1 from pg_stat_activity where usename = 'ordinary' and query ~ 'event_seq'";
  await until(async () => (await pair.query(pair.primary, beats)).length > 0);
  const { length } = messages;
  const count = () => messages.slice(length).length;
  await refuse("connection limit 0");
  await Bun.sleep(3 * timeouts.unconfirmedMs);
  expect([await ping(), count()]).toEqual([true, 0]);
  await refuse("connection limit -1 nologin");
  await until(() => messages.slice(length).includes("the database does not answer"));
  expect(await ping()).toBe(false);
  await refuse("login");
  await until(ping);
  await ordinary.close();
});

for (const setting of ["fsync", "synchronous_commit"]) {
  test(`a store stops its writes and continues its reads while ${setting} is off`, async () => {
    const change = async (value: string) => {
      await pair.query(pair.primary, `alter system set ${setting} = ${value}`);
      await pair.query(pair.primary, "select pg_reload_conf()");
    };
    await write("safe");
    await change("off");
    try {
      const isRefused = () =>
        write("unsafe").then(
          () => false,
          (error) => error.code,
        );
      await until(async () => (await isRefused()) === "storage_unavailable");
      await expect(store.ping()).rejects.toMatchObject({
        message: expect.stringContaining("fsync"),
      });
      expect(await store.read.revocations.sequence()).toBeNumber();
    } finally {
      await change("on");
    }
    await until(() =>
      store.ping().then(
        () => true,
        () => false,
      ),
    );
    await write("safe again");
  });
}

const openByPort = (port: number, role = "pkid") =>
  openStore(
    {
      driver: "postgres",
      dsn: `postgres://${role}@127.0.0.1:${port}/pkid`,
      ...postgresLimits,
      migrate: true,
      patience: timeouts,
    },
    {
      clock: systemClock,
      random: systemRandom,
      onFault: (message) => messages.push(message),
    },
  );

const write = (value: string) => store.atomically((tx) => tx.instance.setValue("name", value));

async function readName(port: number): Promise<unknown> {
  const text = "select value from instance where name = 'name'";
  const [row] = (await pair.query(port, text, "pkid")) as { value: unknown }[]; // As selected.
  return row?.value;
}

const isServed = () =>
  store.ping().then(
    () => true,
    () => false,
  );

/** Checks that events of another process reach the listeners of the store. */
async function receivesEvents(): Promise<void> {
  const other = await openByPort(pair.primary);
  let count = 0;
  const unsubscribe = store.onEvents((events) => {
    count += events.length;
  });
  await other.atomically((tx) => tx.audit.appendEvent(draft(), noon));
  await until(() => count > 0);
  unsubscribe();
  await other.close();
}
