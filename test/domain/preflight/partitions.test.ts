/**
 * The check crl.partitions: every partition a valid certificate names is there and lists its
 * entries.
 */

import { beforeEach, expect, test } from "bun:test";

import type { CaRecord } from "#domain/authorities/store.ts";
import { partitionsServed } from "#domain/preflight/partitions.ts";
import { fullScope } from "#domain/revocation/scopes.ts";
import { initRoot, leafRequest, rootOrigin } from "#test/support/worlds/issuance.ts";
import { revokingWorld } from "#test/support/worlds/revoking-world.ts";

let world: ReturnType<typeof revokingWorld>;
let root: CaRecord;
beforeEach(async () => {
  world = revokingWorld({ shards: 2, urlBase: "http://crl.example" });
  root = await initRoot(world);
});

const check = (shards = 2) =>
  partitionsServed({ store: world.store, now: world.clock.now(), shards, sample: 1000 });
const issued = () => world.issuance.issue(rootOrigin, root, leafRequest());
const publish = () => world.publisher.publishAll(root, rootOrigin);

test("there is nothing to look at while no certificate names a partition", async () => {
  expect((await check()).status).toBe("skip");
});

test("a partition that is named and not published yet warns, a published one with its entries passes", async () => {
  const { serial } = await issued();
  expect((await check()).status).toBe("warn");
  await world.revoker.revoke(
    { ca: root, serial, origin: rootOrigin, mayManageCa: true },
    "superseded",
  );
  await publish();
  expect(await check()).toMatchObject({
    status: "pass",
    detail: expect.stringContaining("1 stamped"),
  });
});

test("one that is past its nextUpdate fails, and so does one that lacks an entry it claims to cover", async () => {
  await issued();
  await publish();
  world.clock.advance(8 * 86_400);
  expect((await check()).detail).toContain("past its nextUpdate");
  await publish();
  expect((await check()).status).toBe("pass");
  const { serial, record } = await issued();
  await world.revoker.revoke(
    { ca: root, serial, origin: rootOrigin, mayManageCa: true },
    "superseded",
  );
  // Not listed yet, and the list does not say that it were.
  expect((await check()).status).toBe("pass");
  const { revocations } = world.store.read;
  const lying = {
    ...revocations,
    crlHead: async (...asked: Parameters<typeof revocations.crlHead>) => {
      const head = await revocations.crlHead(...asked);
      return head && { ...head, sequence: 1_000_000 };
    },
  };
  const store = { read: { ...world.store.read, revocations: lying } };
  const found = await partitionsServed({ store, now: world.clock.now(), shards: 2, sample: 10 });
  expect(found).toMatchObject({
    status: "fail",
    detail: `Partition ${record.crlPartition} of root lacks 1 entries.`,
  });
});

test("a full CRL over 10 MiB without partitions warns", async () => {
  await publish();
  const { revocations } = world.store.read;
  const large = {
    ...revocations,
    crlHead: async (...asked: Parameters<typeof revocations.crlHead>) => {
      const head = await revocations.crlHead(...asked);
      return head && { ...head, size: asked[1] === fullScope ? 10_485_761 : head.size };
    },
  };
  const store = { read: { ...world.store.read, revocations: large } };
  const judged = async (shards: number) =>
    (await partitionsServed({ store, now: world.clock.now(), shards, sample: 10 })).status;
  expect([await judged(0), await judged(2)]).toEqual(["warn", "skip"]);
});
