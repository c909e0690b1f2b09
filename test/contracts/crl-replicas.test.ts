/**
 * CRLs built by two replicas over one PostgreSQL: one build at a time, numbers that only rise, and
 * one truth.
 */

import { expect, setDefaultTimeout, test } from "bun:test";

import fc from "fast-check";

import { type CaId, parseSerial } from "#core/ids.ts";
import { parseCrl } from "#core/x509/crl.ts";
import { openRevocation, type Revocation } from "#domain/revocation/open.ts";
import { belongs, rememberShards } from "#domain/revocation/scopes.ts";
import type { Store } from "#domain/store.ts";
import { Signing } from "#domain/signing/signing.ts";
import { seededRandom } from "#test/support/ports.ts";
import { sharePostgres } from "#test/support/servers/postgres.ts";
import { revocationDefaults, rootOrigin, smallCa } from "#test/support/worlds/small-ca.ts";
import { postgresDatabase, postgresLimits } from "#test/support/stores/stores.ts";

setDefaultTimeout(120_000);
const server = await sharePostgres();

/** Two processes with the same key over one database. */
async function replicas(shards = 0) {
  const small = await smallCa();
  const database = await postgresDatabase(server);
  const stores = [await database.open(), await database.open()] as const;
  await stores[0].atomically((tx) => tx.cas.insert(small.ca));
  await rememberShards(stores[0], shards);
  const { keys, clock, ca } = small;
  const crl = { ...revocationDefaults.crl, shards, base_url: "http://crl.example" };
  const random = seededRandom();
  const open = (store: Store): Revocation =>
    openRevocation(
      { ...revocationDefaults, crl },
      {
        stillMay: async () => {},
        store,
        keys,
        clock,
        random,
        signing: new Signing({ store, keys, clock, random }),
        wake: () => {},
        clockAhead: () => false,
        clockBelieved: () => true,
        crlFiles: undefined,
        publicProfile: () => false,
        signCertificate: () => Promise.reject(new Error("no responder here")),
        counts: { add: () => {} },
        onFailure: () => {},
      },
    );
  const [one, two] = [open(stores[0]), open(stores[1])];
  const close = () => Promise.all(stores.map((store) => store.close()));
  return { one, two, stores, database, keys, clock, ca, close };
}

test("work of one name is done by one replica at a time", async () => {
  const { stores, close } = await replicas();
  const order: string[] = [];
  const work = (store: Store, name: string) =>
    store.exclusively("the same", async () => {
      order.push(`${name} begins`);
      await store.ping();
      order.push(`${name} ends`);
    });
  await Promise.all([work(stores[0], "a"), work(stores[1], "b"), work(stores[0], "c")]);
  const pairs = [0, 2, 4].map((at) => order.slice(at, at + 2).map((line) => line.slice(0, 1)));
  expect(pairs.every(([first, second]) => first === second)).toBe(true);
  await close();
});

test("whoever holds a lease still reads when more leases are wanted than there are connections", async () => {
  const { stores, close } = await replicas();
  const [store] = stores;
  const names = Array.from({ length: 2 * postgresLimits.max_open_conns }, (_, n) => `lease ${n}`);
  const work = (name: string) => store.exclusively(name, () => store.ping().then(() => name));
  expect(await Promise.all(names.map(work))).toEqual(names);
  await close();
});

test("a holder whose connection dies lets go, while it thinks it works", async () => {
  const { stores, database, close } = await replicas();
  const { promise: working, resolve: stop } = Promise.withResolvers<void>();
  const { promise: holding, resolve: held } = Promise.withResolvers<void>();
  const holder = stores[0].exclusively("held", async () => {
    held();
    await working;
    return "done";
  });
  await holding;
  await database.query(
    `select pg_terminate_backend(pid) from pg_locks
      where locktype = 'advisory' and granted and classid = ${0x706b6965}`,
  );
  expect(await stores[1].exclusively("held", async () => "next")).toBe("next");
  stop();
  expect(await holder).toBe("done");
  expect(stores.map((store) => store.leaseTroubles())).toEqual([
    { shared: 0, lost: 1 },
    { shared: 0, lost: 0 },
  ]);
  await close();
});

test("replicas that renew the same lists at once sign each once", async () => {
  const { one, two, stores, ca, close } = await replicas();
  await Promise.all([one.refresh.renewals(), two.refresh.renewals()]);
  expect(await readNumbers(stores[0], ca.id)).toEqual([1, 2]);
  await close();
});

test("a replica signs no list that another has published since the decision to sign", async () => {
  const { one, two, stores, ca, close } = await replicas();
  const seen = { base: 0, delta: 0 };
  await one.publisher.renew(ca, "full", "base", seen);
  await two.publisher.renew(ca, "full", "base", seen);
  await two.publisher.renew(ca, "full", "delta", seen);
  expect(await readNumbers(stores[0], ca.id)).toEqual([1, 2]);
  await two.publisher.renew(ca, "full", "base");
  expect(await readNumbers(stores[0], ca.id)).toEqual([3, 4]);
  await close();
});

/** Returns the numbers of the newest base and delta. */
async function readNumbers({ read }: Store, ca: CaId) {
  const base = await read.revocations.crlHead(ca, "full", "base");
  const delta = await read.revocations.crlHead(ca, "full", "delta");
  return [base?.number, delta?.number];
}

test("whatever two replicas revoke and publish at once, base and delta are the table in the end", async () => {
  const world = await replicas(3);
  const { ca, clock, close } = world;
  let next = 1;
  const steps = fc.array(
    fc.record({
      replica: fc.constantFrom("one", "two"),
      action: fc.constantFrom("revoke", "revoke", "base", "delta"),
      scope: fc.constantFrom("full", "partition-0", "partition-2"),
    }),
    { minLength: 4, maxLength: 14 },
  );
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      clock.advance(1);

      await Promise.all(
        history.map(async ({ replica, action, scope }) => {
          const { revoker, publisher } = world[replica as "one" | "two"]; // One of the two above.
          if (action === "revoke") {
            const serial = parseSerial(String(next++));
            const request = { ca, serial, origin: rootOrigin, mayManageCa: true };
            await revoker.revoke(request, "superseded");
          } else if (action === "base") {
            await publisher.publishBase(ca, rootOrigin, scope);
          } else await publisher.publishDelta(ca, rootOrigin, scope);
        }),
      );
      for (const scope of ["full", "partition-0", "partition-2"]) await agrees(world, scope, next);
    }),
    { numRuns: 12 },
  );
  await close();
});

async function agrees(
  { one, two, ca }: Awaited<ReturnType<typeof replicas>>,
  scope: string,
  next: number,
): Promise<void> {
  const { number } = await one.publisher.publishDelta(ca, rootOrigin, scope);
  const { base, delta } = await two.publisher.newest(ca.id, scope);
  expect(delta?.number).toBe(number);
  if (base === undefined || delta === undefined) throw new Error("both are published");
  const lists = await Promise.all([base, delta].map((head) => two.publisher.der(head)));
  const listed = lists.flatMap((der) => parseCrl(der).entries.map((entry) => entry.serial));
  const everUsed = await two.scopes.everUsed();
  const all = Array.from({ length: next - 1 }, (_, n) => parseSerial(String(n + 1)));
  const partition = two.scopes.partition(scope);
  const wanted = all.filter((serial) =>
    belongs({ serial, kind: undefined, namedShard: undefined }, partition, everUsed),
  );
  expect(listed.toSorted()).toEqual(wanted.toSorted());
}
