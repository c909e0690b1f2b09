/**
 * The inclusion monitor against real logs: SCTs kept, broken, unknown, and trees that were
 * rewritten.
 */

import { expect, test } from "bun:test";

import type { NamedLogs } from "#test/support/worlds/ct-world.ts";
import { ctWorld } from "#test/support/worlds/ct-world.ts";
import { leafOf } from "#test/support/encodings/reference-tree.ts";

const day = 86_400;

/** A world with one SCT that is due. */
async function dueWorld(log: NamedLogs[string], before = 0) {
  const world = await ctWorld({ "a-1": log });
  world.log("a-1").grow(before);
  const { serial } = await world.issue();
  world.clock.advance(day);
  const one = () => {
    const [row] = world.inclusions();
    if (row === undefined) throw new Error("there is no SCT");
    return row;
  };
  const alerts = () => world.events().filter(({ action }) => action === "ct.inclusion");
  return { world, serial, one, alerts, log: world.log("a-1") };
}

test("an SCT is not looked at before its maximum merge delay", async () => {
  await using world = await ctWorld({ "a-1": {} });
  await world.issue();
  world.clock.advance(day - 1);
  expect(await world.transparency.monitor.run()).toMatchObject({ checked: 0 });
  world.clock.advance(1);
  expect(await world.transparency.monitor.run()).toMatchObject({ checked: 1, included: 1 });
});

for (const api of ["rfc6962", "static"] as const) {
  test(`an SCT of a ${api} log that keeps it is proven once and never asked again`, async () => {
    const { world, one, alerts, log } = await dueWorld({ api }, 300);
    await using _held = world;
    log.grow(250);
    expect(await world.transparency.monitor.run()).toMatchObject({ included: 1, failed: 0 });
    expect(one()).toMatchObject({ status: "included", leafIndex: 300, treeSize: 551, checks: 1 });
    expect(one().includedAt).toBe(world.clock.now());
    world.clock.advance(day);
    expect(await world.transparency.monitor.run()).toMatchObject({ checked: 0 });
    expect(alerts()).toEqual([]);
  });

  test(`a leaf a ${api} log does not show is pending for a day and then failed, with one event`, async () => {
    const { world, serial, one, alerts, log } = await dueWorld({ api }, 3);
    await using _held = world;
    log.shown = 3;
    await world.transparency.monitor.run();
    expect(one()).toMatchObject({ status: "pending", checks: 1, alerted: false });
    expect(one().lastError).not.toBe("");
    expect(await world.transparency.monitor.run()).toMatchObject({ checked: 0 });
    world.clock.advance(day + 1);
    expect(await world.transparency.monitor.run()).toMatchObject({ failed: 1 });
    expect(one()).toMatchObject({ status: "failed", checks: 2, alerted: true });
    expect(alerts()).toMatchObject([
      { result: "error", serial, detail: `serial=${serial} log=a-1 status=failed` },
    ]);
    world.clock.advance(day);
    expect(await world.transparency.monitor.run()).toMatchObject({ checked: 0 });
  });

  test(`a ${api} log that grew between two looks is believed, one that was rewritten is not`, async () => {
    const { world, alerts, log } = await dueWorld({ api }, 5);
    await using _held = world;
    expect(await world.transparency.monitor.run()).toMatchObject({ included: 1 });
    log.grow(20);
    await world.issue();
    world.clock.advance(day);
    expect(await world.transparency.monitor.run()).toMatchObject({ included: 1 });
    await world.issue();
    log.leaves.splice(2, 1, leafOf(Uint8Array.of(1)));
    log.grow(7);
    world.clock.advance(day);
    expect(await world.transparency.monitor.run()).toMatchObject({ failed: 1 });
    expect(alerts()).toHaveLength(1);
    const head = await world.store.read.transparency.head(log.logId.toHex());
    expect(head?.treeSize).toBe(27);
  });

  test(`a ${api} mirror that is behind what was seen is checked against it`, async () => {
    const { world, log } = await dueWorld({ api }, 9);
    await using _held = world;
    await world.transparency.monitor.run();
    await world.issue();
    log.shown = 6;
    world.clock.advance(day);
    // Behind, but of the same tree: the leaf is not in the part we know, so it waits.
    expect(await world.transparency.monitor.run()).toMatchObject({ checked: 1, failed: 0 });
    log.shown = undefined;
    world.clock.advance(3600);
    expect(await world.transparency.monitor.run()).toMatchObject({ included: 1 });
  });
}

test("a log that does not answer leaves its SCTs pending, however long it takes", async () => {
  const { world, one, log } = await dueWorld({});
  await using _held = world;
  await log.stop();
  world.clock.advance(10 * day);
  await world.transparency.monitor.run();
  expect(one()).toMatchObject({ status: "pending", lastError: "the log cannot be reached" });
});

test("a head that another key has signed proves nothing and breaks every SCT that is due", async () => {
  const { world, one, alerts } = await dueWorld({ forgedHeads: true });
  await using _held = world;
  await world.transparency.monitor.run();
  expect(one()).toMatchObject({
    status: "failed",
    lastError: "the head is not signed by the log",
  });
  expect(alerts()).toHaveLength(1);
});

test("a log that left the registry is unknown, and known again when it returns", async () => {
  const { world, one, log } = await dueWorld({});
  await using _held = world;
  world.running.delete("a-1");
  expect(await world.transparency.monitor.run()).toMatchObject({ unknown: 1 });
  expect(one()).toMatchObject({ status: "unknown_log", alerted: false });
  world.running.set("a-1", log);
  world.clock.advance(day);
  expect(await world.transparency.monitor.run()).toMatchObject({ included: 1 });
});

test("a run takes no more than it may, the longest due first", async () => {
  await using world = await ctWorld({ "a-1": {} });
  for (let n = 0; n < 3; n++) {
    await world.issue();
    world.clock.advance(60);
  }
  world.clock.advance(day);
  expect(await world.transparency.monitor.run(2)).toMatchObject({ checked: 2, included: 2 });
  const rest = world.inclusions().filter(({ status }) => status === "pending");
  expect(rest).toHaveLength(1);
  const newest = Math.max(...world.inclusions().map((row) => row.sctTimestamp));
  expect(Number(rest[0]?.sctTimestamp)).toBe(newest);
});
