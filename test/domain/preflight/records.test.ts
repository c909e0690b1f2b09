/**
 * What preflight says of chains, ledger, orphans and expiry, over records that are as they should
 * be and that are not.
 */

import { beforeEach, describe, expect, test } from "bun:test";

import { refuse } from "#core/problems.ts";
import { eventHash } from "#core/audit/chain.ts";
import { ledgerHash } from "#core/audit/ledger.ts";
import { parseSerial } from "#core/ids.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { addSeconds, secondsPerDay } from "#core/time.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import {
  casLive,
  leavesRenewed,
  sctsKept,
  respondersLive,
} from "#domain/preflight/certificates.ts";
import { eventsIntact, ledgerIntact, orphansSettled } from "#domain/preflight/records.ts";
import { issuerOf } from "#domain/revocation/issuers.ts";
import { ctWorld } from "#test/support/worlds/ct-world.ts";
import {
  initRoot,
  issuanceWorld,
  leafRequest,
  rootOrigin,
  type World,
} from "#test/support/worlds/issuance.ts";
import { smallCa } from "#test/support/worlds/small-ca.ts";

let world: World;
let root: CaRecord;
beforeEach(async () => {
  world = issuanceWorld();
  root = await initRoot(world);
  for (let n = 0; n < 3; n++) await world.issuance.issue(rootOrigin, root, leafRequest());
});
const day = secondsPerDay;
const limits = { warnDays: 30, failDays: 7 };

/** As a database that is gone in the middle of a commit: nobody knows what it has kept. */
const powerCut = () => refuse("storage_unavailable", { retry_after: 2 });

describe("audit.chain_head", () => {
  const check = (sample = 1000) => eventsIntact(world.store, sample);

  test("passes for any sample of a chain that holds", async () => {
    expect(await check()).toMatchObject({
      status: "pass",
      detail: "The newest 4 events link, up to 4.",
    });
    expect((await check(2)).detail).toContain("newest 2 events");
    expect((await eventsIntact(issuanceWorld().store, 10)).status).toBe("skip");
  });

  test("fails for an event that was changed, one that is missing, a tail that was cut, another head", async () => {
    await world.store.tamper("update events set actor = 'mallory' where seq = 2");
    expect(await check()).toMatchObject({
      status: "fail",
      detail: "Event 2 breaks the chain (hash).",
    });
    expect((await check(1)).status).toBe("pass");
    await world.store.tamper("delete from events where seq = 2");
    expect((await check()).detail).toContain("(gap)");
  });

  test("fails for another last event, and for a tail that was cut", async () => {
    const { store } = world;
    const last = store.listEvents().at(-1);
    if (last === undefined) throw new Error("there are events");
    const check = async () => (await eventsIntact(store, 1000)).detail;
    const hash = eventHash({ ...last, actor: "mallory" });
    const forge = "update events set actor = 'mallory', hash = ? where seq = ?";
    await store.tamper(forge, hash, last.seq);
    expect(await check()).toContain("not the one the head names");
    await store.tamper("delete from events where seq = ?", last.seq);
    expect(await check()).toContain("ends before event 4");
  });
});

describe("ledger.head", () => {
  const check = (sample = 1000) => ledgerIntact(world.store, sample, world.clock.now());

  test("passes for a ledger whose entries link, are closed, and whose artefacts are there", async () => {
    expect((await check()).status).toBe("pass");
    expect((await check(1)).status).toBe("pass");
  });

  test("warns of an intent that has been open for more than a minute", async () => {
    world.store.checkWrite = (operation) => {
      if (operation === "certificates.activate") throw powerCut();
    };
    await expect(world.issuance.issue(rootOrigin, root, leafRequest())).rejects.toMatchObject({
      code: "storage_unavailable",
    });
    world.clock.advance(60);
    expect((await check()).status).toBe("pass");
    world.clock.advance(1);
    expect(await check()).toMatchObject({
      status: "warn",
      detail: expect.stringContaining("open since"),
    });
  });

  test("fails for an entry that was changed, and for a certificate that is nowhere", async () => {
    const { store } = world;
    const record = store.listRows("certificates").at(-1);
    if (record === undefined) throw new Error("there are certificates");
    await store.tamper("create table before as select * from certificates");
    await store.tamper("delete from certificates where serial = ?", record.serial);
    expect(await check()).toMatchObject({
      status: "fail",
      detail: expect.stringContaining(`certificate (${record.serial}) that is nowhere`),
    });
    const restore = "insert into certificates select * from before where serial = ?";
    await store.tamper(restore, record.serial);
    const third = store.listLedger()[2];
    if (third === undefined) throw new Error("there are entries");
    await store.tamper("update ledger set artifact = '1' where number = 3");
    expect((await check()).detail).toContain("Ledger entry 3 breaks the chain (hash)");
    const hash = ledgerHash({ ...third, artifact: "1" });
    await store.tamper("update ledger set hash = ? where number = 3", hash);
    expect((await check()).detail).toContain("(link)");
  });
});

describe("issuance.orphans", () => {
  test("warns of serials orphaned in the last 30 days, and of no older ones", async () => {
    const check = () => orphansSettled(world.store, world.clock.now());
    expect((await check()).status).toBe("pass");
    world.store.checkWrite = (operation) => {
      if (operation === "certificates.activate") throw powerCut();
    };
    await expect(world.issuance.issue(rootOrigin, root, leafRequest())).rejects.toMatchObject({
      code: "storage_unavailable",
    });
    await world.store.atomically((tx) => tx.certificates.orphanOpenIntents());
    expect((await check()).status).toBe("warn");
    world.clock.advance(30 * day);
    expect((await check()).status).toBe("pass");
  });

  test("fails for a public precertificate that came to nothing and is not revoked", async () => {
    await using logs = await ctWorld({ "a-1": {} }, {});
    const precertificate = { caId: logs.root.id, serial: parseSerial("4711") };
    await logs.store.atomically(async (tx) => {
      const opId = crypto.randomUUID();
      const about = { ...precertificate, opId, purpose: "precertificate", tbsDigest: "" } as const;
      const createdAt = logs.clock.now();
      await tx.certificates.intend({ ...about, requestedBy: "root", createdAt, state: "intended" });
      const certificate = new Uint8Array(1);
      await tx.transparency.keep({ ...precertificate, certificate, unsettled: true, createdAt });
      await tx.certificates.settle(opId, "abandoned");
    });
    expect((await orphansSettled(logs.store, logs.clock.now())).status).toBe("fail");
  });
});

describe("certs.ca_expiry", () => {
  const check = () => casLive(world.store, new ProfileSet(), world.clock.now(), limits);

  test("warns and fails at its limits, and before certificates of a profile in use may end", async () => {
    const { notAfter } = root;
    if (notAfter === undefined) throw new Error("the root has a certificate");
    world.clock.at = addSeconds(notAfter, -398 * day);
    expect((await check()).status).toBe("pass");
    world.clock.at = addSeconds(notAfter, -396 * day);
    expect(await check()).toMatchObject({
      status: "warn",
      detail: expect.stringContaining("of server may"),
    });
    world.clock.at = addSeconds(notAfter, -7 * day);
    expect((await check()).status).toBe("warn");
    world.clock.at = addSeconds(notAfter, -7 * day + 1);
    expect((await check()).status).toBe("fail");
    world.clock.at = addSeconds(notAfter, day);
    expect((await check()).status).toBe("fail");
  });
});

describe("certs.expiring", () => {
  const check = () => leavesRenewed(world.store, world.clock.now(), limits);

  test("warns of leaves that are due, fails for those forgotten for a week, and not for renewed ones", async () => {
    expect((await check()).status).toBe("pass");
    world.clock.advance(391 * day);
    expect(await check()).toMatchObject({ status: "warn", detail: "Expiring within 7 days: 3." });
    world.clock.advance(8 * day);
    expect((await check()).status).toBe("pass");
    world.clock.advance(7 * day);
    expect(await check()).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("not renewed: 3"),
    });
    const { record } = await world.issuance.issue(rootOrigin, root, leafRequest());
    expect(record.notAfter).toBeGreaterThan(world.clock.now());
    // The three had its subject and profile: it stands in for them.
    expect((await check()).status).toBe("pass");
  });
});

describe("certs.responder_expiry", () => {
  test("follows the life of a responder: half warns, the last quarter fails", async () => {
    const ca = await smallCa();
    const check = async () => (await respondersLive(ca.store, ca.clock.now(), limits)).status;
    expect(await check()).toBe("skip");
    await ca.responders.signer(issuerOf(ca.ca), 0);
    expect(await check()).toBe("pass");
    ca.clock.advance(84 * 3600);
    expect(await check()).toBe("warn");
    ca.clock.advance(42 * 3600);
    expect(await check()).toBe("fail");
  });
});

test("ct.inclusion warns of a monitor that stands and of logs nobody knows, and fails for a broken SCT", async () => {
  await using logs = await ctWorld({ "a-1": {} }, { minScts: 1 });
  const check = (minutes: number | undefined) => sctsKept(logs.store, logs.clock.now(), minutes);
  expect((await check(60)).status).toBe("skip");
  await logs.issuance.issue(rootOrigin, logs.root, leafRequest({ profile: "ct" }));
  expect((await check(60)).status).toBe("pass");
  logs.clock.advance(30 * day);
  expect(await check(60)).toMatchObject({
    status: "warn",
    detail: expect.stringContaining("stands"),
  });
  expect((await check(undefined)).detail).toContain("switched off");
  const [inclusion] = (await logs.store.read.transparency.inclusions({ reach: "platform" }, 1))
    .items;
  if (inclusion === undefined) throw new Error("there is an SCT");
  const become = (status: "failed" | "unknown_log") =>
    logs.store.atomically((tx) =>
      tx.transparency.update({ ...inclusion, status, dueAt: addSeconds(logs.clock.now(), day) }),
    );
  await become("unknown_log");
  expect(await check(60)).toMatchObject({
    status: "warn",
    detail: expect.stringContaining("nobody knows"),
  });
  await become("failed");
  expect((await check(60)).status).toBe("fail");
});
