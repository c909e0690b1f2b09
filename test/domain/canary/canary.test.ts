/** Which CAs are probed and when, and what is remembered of it. */

import { describe, expect, test } from "bun:test";

import { caId } from "#core/ids.ts";
import { lastProbesOf, probeFactsOf } from "#domain/canary/last-probes.ts";
import { systemOrigin } from "#domain/revocation/system-origin.ts";
import { type CanaryWorld, canaryWorld } from "#test/support/worlds/canary-world.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";
import { refusalOf } from "#test/support/worlds/access.ts";

const byClock = systemOrigin("canary");
const probed = ({ probes }: CanaryWorld) =>
  probes.map(({ reference, result }) => `${reference} ${result}`);

describe("by the clock", () => {
  test("CAN-1: a CA is probed when its last probe is an interval ago, and not before", async () => {
    const world = await canaryWorld();
    await world.canary.runDue(byClock);
    const ended = world.clock.now();
    await world.canary.runDue(byClock);
    expect(probed(world)).toEqual(["issuing success"]);
    world.clock.step((ended - world.clock.now()) / 1000 + 15 * 60 - 1);
    await world.canary.runDue(byClock);
    expect(probed(world)).toHaveLength(1);
    world.clock.step(1);
    await world.canary.runDue(byClock);
    expect(probed(world)).toHaveLength(2);
    expect(world.told().map(({ actor, actorRoles }) => [actor, actorRoles])).toEqual([
      ["system:canary", "system"],
      ["system:canary", "system"],
    ]);
  });

  test("CAN-1: what is wrong with one CA keeps no other from being probed", async () => {
    const world = await canaryWorld();
    const other = await world.below("other");
    world.set({ cas: ["nobody", "other", "issuing"] });
    world.keys.held.delete(other.key.id);
    await world.canary.runDue(byClock);
    expect(probed(world)).toEqual(["nobody error", "other error", "issuing success"]);
    const details = world.told().map(({ detail, caId: about }) => [detail, about]);
    expect(details).toEqual([
      ["ca=nobody stage=resolve reason=not_found", ""],
      ["ca=other stage=issue reason=key_unavailable", other.id],
      ["ca=issuing", world.issuing.id],
    ]);
  });

  test("nothing is probed while it is off or the disk is nearly full, or once it is halted", async () => {
    const world = await canaryWorld();
    world.room.enough = false;
    await world.canary.runDue(byClock);
    world.room.enough = true;
    world.set({ enabled: false });
    await world.canary.runDue(byClock);
    world.set({ enabled: true });
    world.canary.halt();
    await world.canary.runDue(byClock);
    expect([probed(world), world.canaries()]).toEqual([[], []]);
  });

  test("a clock that was set back lets nobody wait for the time it came from", async () => {
    const world = await canaryWorld();
    await world.canary.runDue(byClock);
    world.clock.step(-1);
    await world.canary.runDue(byClock);
    expect(world.probes).toHaveLength(2);
  });
});

describe("on demand", () => {
  test("CAN-1: each configured CA is probed once, however often it is named", async () => {
    const world = await canaryWorld();
    world.set({ enabled: false, cas: ["issuing", "root", "issuing"] });
    await world.canary.run(rootOrigin);
    expect(probed(world)).toEqual(["issuing success", "root success"]);
  });

  test("one CA is named by its id, and remembered as it is configured", async () => {
    const world = await canaryWorld();
    await world.canary.run(rootOrigin, world.issuing.id);
    await world.canary.run(rootOrigin, world.root.id);
    expect(world.probes.map(({ reference, ca }) => [reference, ca?.label])).toEqual([
      ["issuing", "issuing"],
      [world.root.id, "root"],
    ]);
    const kept = await lastProbesOf(world.store, ["issuing", world.root.id]);
    expect(kept.map(({ reference }) => reference)).toEqual(["issuing"]);
    expect(world.told()).toHaveLength(2);
  });

  test("a CA that is not there is refused, and so is naming none where none is configured", async () => {
    const world = await canaryWorld();
    expect(await refusalOf(world.canary.run(rootOrigin, caId("nobody")))).toBe("not_found");
    world.set({ cas: [] });
    await expect(world.canary.run(rootOrigin)).rejects.toMatchObject({
      code: "missing_field",
      facts: { field: "ca_id" },
    });
    expect(world.told()).toEqual([]);
  });

  test("a second run is refused while one is under way, and comes after it", async () => {
    const world = await canaryWorld();
    const first = world.canary.run(rootOrigin);
    await world.canary.runDue(byClock);
    expect(await refusalOf(world.canary.run(rootOrigin))).toBe("operation_running");
    expect(await first).toHaveLength(1);
    expect(await world.canary.run(rootOrigin)).toHaveLength(1);
  });
});

describe("what is remembered", () => {
  test("CAN-1: the last probe of each CA, and when one succeeded", async () => {
    const world = await canaryWorld();
    const { store, clock, keys, issuing } = world;
    expect(await probeFactsOf(store, ["issuing"])).toEqual({ leastSuccess: 0, failing: 0 });
    await world.canary.run(rootOrigin);
    const good = clock.now();
    expect(await probeFactsOf(store, ["issuing"])).toEqual({ leastSuccess: good, failing: 0 });
    expect(await probeFactsOf(store, ["issuing", "root"])).toMatchObject({ leastSuccess: 0 });
    clock.advance(60);
    keys.held.delete(issuing.key.id);
    await world.canary.run(rootOrigin);
    expect(await probeFactsOf(store, ["issuing"])).toEqual({ leastSuccess: good, failing: 1 });
    const [last] = await lastProbesOf(store, ["issuing"]);
    expect(last).toMatchObject({ result: "error", stage: "issue", reason: "key_unavailable" });
  });

  test("a CA that is no longer configured is forgotten with the next probe", async () => {
    const world = await canaryWorld();
    world.set({ cas: ["issuing", "root"] });
    await world.canary.run(rootOrigin);
    world.set({ cas: ["root"] });
    await world.canary.run(rootOrigin);
    const kept = await lastProbesOf(world.store, ["issuing", "root"]);
    expect(kept.map(({ reference }) => reference)).toEqual(["root"]);
  });
});
