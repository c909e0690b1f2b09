/** PRC-4: what a step of the clock pauses, until when, and what goes on all the same. */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { describe, expect, test } from "bun:test";

import { clockHandlers } from "#api/clock.ts";
import { instant } from "#core/time.ts";
import { ClockWatch, type ClockPause, skewMessage } from "#domain/clock-watch.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import {
  csr,
  initRoot,
  issuanceWorld,
  leafRequest,
  rootOrigin,
  type World,
} from "#test/support/worlds/issuance.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";

/** Another process on the same store, or the same one after a restart. */
async function restarted({ store, clock }: World) {
  const pauses: ClockPause[] = [];
  const onPause = (pause: ClockPause) => pauses.push(pause);
  const onSkew = () => {};
  const watch = new ClockWatch({ store, clock, stopwatch: clock.stopwatch, onPause, onSkew });
  await watch.open();
  return { watch, pauses };
}

const issue = ({ issuance }: World, ca: CaRecord) => issuance.issue(rootOrigin, ca, leafRequest());

const readChains = ({ store }: World) =>
  JSON.stringify([store.listEvents(), store.listLedger(), store.listSerials()]);

async function world() {
  const opened = issuanceWorld();
  await opened.clockWatch.open();
  const root = await initRoot(opened);
  return { ...opened, root };
}

describe("a step back", () => {
  test("of more than 5 s pauses issuance until the clock has passed the last event", async () => {
    const { root, ...opened } = await world();
    opened.clock.advance(1);
    await issue(opened, root);
    opened.clock.step(-6);
    await expect(issue(opened, root)).rejects.toMatchObject({
      code: "storage_unavailable",
      message: expect.stringContaining("clock"),
      facts: { retry_after: 6 },
    });
    opened.clock.advance(6);
    await expect(issue(opened, root)).rejects.toMatchObject({ code: "storage_unavailable" });
    opened.clock.advance(1);
    await issue(opened, root);
  });

  test("pauses the preview of issuance too, which says what issuing would do", async () => {
    const { root, ...opened } = await world();
    const asked = { csr: csr() };
    const request = { asked, profile: "server", validityDays: undefined, mustStaple: undefined };
    const preview = () => opened.issuance.preview(root, request);
    expect((await preview()).accepted).toBe(true);
    opened.clock.step(-6);
    await expect(preview()).rejects.toMatchObject({ code: "storage_unavailable" });
  });

  test("of 5 s pauses nothing", async () => {
    const { root, ...opened } = await world();
    opened.clock.step(-5);
    await issue(opened, root);
  });

  test("that ends behind the last event pauses nothing", async () => {
    const { root, ...opened } = await world();
    opened.clock.advance(60);
    opened.clock.step(-50);
    await issue(opened, root);
  });

  test("leaves no trace of a refused request: no serial, no ledger entry, no event", async () => {
    const { root, ...opened } = await world();
    const before = readChains(opened);
    opened.clock.step(-3600);
    await expect(issue(opened, root)).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(readChains(opened)).toBe(before);
  });

  test("is seen at the start too, and outlasts restarts and events of the wrong time", async () => {
    const { ...opened } = await world();
    const committed = opened.clock.now();
    opened.clock.step(-365 * 86_400);
    const first = await restarted(opened);
    expect(first.pauses).toEqual([{ behindUntil: committed, ahead: undefined }]);
    await opened.store.atomically((tx) =>
      tx.audit.appendEvent(
        { action: "config.load", result: "success", actor: "system:config" },
        opened.clock.now(),
      ),
    );
    opened.clock.advance(10);
    const { watch } = await restarted(opened);
    expect(watch.pause.behindUntil).toBe(committed);
    expect(() => watch.refuseWhileBehind()).toThrow("clock");
    opened.clock.advance(365 * 86_400);
    expect(watch.pause.behindUntil).toBeUndefined();
    watch.refuseWhileBehind();
  });
});

describe("a clock that differs from that of the database", () => {
  const skews = [
    ["60 seconds slow", 60, false],
    ["61 seconds slow", 61, true],
    ["61 seconds fast", -61, true],
    ["200 days fast", -200 * 86_400, true],
  ] as const;

  test.each(skews)(
    "a clock that is %s pauses issuance only beyond 60 seconds",
    async (_name, seconds, isPaused) => {
      const skew = { milliseconds: 0 };
      const store = createMemoryStore();
      const databaseClockOffsetMs = () => skew.milliseconds;
      const opened = issuanceWorld({ store: { ...store, databaseClockOffsetMs } });
      await opened.clockWatch.open();
      const root = await initRoot(opened);
      skew.milliseconds = seconds * 1000;
      const refusal = { code: "storage_unavailable", message: skewMessage };
      // Another replica, whose clock is right, finds no pause and stores none.
      const other = new ClockWatch({ ...watchDeps(opened), store });
      await other.open();
      await other.watch();
      await opened.clockWatch.watch();
      if (isPaused) await expect(issue(opened, root)).rejects.toMatchObject(refusal);
      else await issue(opened, root);
      expect(opened.clockWatch.issuancePause).toBe(isPaused ? skewMessage : undefined);
      expect(opened.clockWatch.believed).toBe(!isPaused);
      expect(other.issuancePause).toBeUndefined();
      skew.milliseconds = 0;
      await issue(opened, root);
    },
  );

  test("a wrong clock is reported once until the clocks agree, also at the start", async () => {
    const { clock } = await world();
    const skew = { milliseconds: -90_000 };
    const reports: number[] = [];
    const watch = new ClockWatch({
      ...watchDeps({ clock }),
      store: { ...createMemoryStore(), databaseClockOffsetMs: () => skew.milliseconds },
      onSkew: (seconds) => reports.push(seconds),
    });
    await watch.open();
    await watch.watch();
    expect(reports).toEqual([-90]);
    skew.milliseconds = 0;
    await watch.watch();
    skew.milliseconds = 75_000;
    await watch.watch();
    expect(reports).toEqual([-90, 75]);
  });

  const watchDeps = ({ clock }: Pick<World, "clock">) => ({
    clock,
    stopwatch: clock.stopwatch,
    onPause: () => {},
    onSkew: () => {},
  });
});

describe("a step ahead", () => {
  test("of more than a day pauses mass actions, and issuance goes on", async () => {
    const { root, ...opened } = await world();
    const from = opened.clock.now();
    opened.clock.step(86_400);
    expect(opened.clockWatch.pause.ahead).toBeUndefined();
    opened.clock.step(86_401);
    expect(opened.clockWatch.pause.ahead).toEqual({
      from: instant(from + 86_400_000),
      to: opened.clock.now(),
    });
    await issue(opened, root);
  });

  test("is seen at the start, outlasts restarts, and reaches another replica", async () => {
    const opened = await world();
    const other = await restarted(opened);
    opened.clock.step(365 * 86_400);
    // The other process was started after the step and knows of it only what the first one keeps.
    const first = await restarted(opened);
    expect(first.pauses).toHaveLength(1);
    const again = await restarted(opened);
    expect(again.watch.pause.ahead).toEqual(first.watch.pause.ahead);
    await other.watch.watch();
    expect(other.watch.pause.ahead).toEqual(first.watch.pause.ahead);
    await first.watch.accept(rootOrigin);
    await other.watch.watch();
    expect(other.watch.pause.ahead).toBeUndefined();
  });

  test("is not mistaken for a quiet week of a running instance", async () => {
    const opened = await world();
    for (let hour = 0; hour < 7 * 24; hour++) {
      opened.clock.advance(3600);
      await opened.clockWatch.watch();
      await opened.clockWatch.remember();
    }
    const { watch, pauses } = await restarted(opened);
    expect(pauses).toEqual([]);
    expect(watch.pause.ahead).toBeUndefined();
  });
});

describe("the confirmation", () => {
  async function accept(opened: World) {
    const handlers = clockHandlers(opened);
    const perform = openPipeline({ ...opened });
    const call = { operation: "monitor.clock_accept", origin: rootOrigin, path: {} } as const;
    const query = new URLSearchParams();
    const asked = { ...call, query, body: async () => undefined };
    return (await askJson(perform, asked, handlers["monitor.clock_accept"])).body;
  }

  test("resumes both, at this start and every later one, and is an event that says what it resumed", async () => {
    const { root, ...opened } = await world();
    // A year ahead, events in the future, and set right again.
    opened.clock.step(365 * 86_400);
    await opened.clockWatch.watch();
    await issue(opened, root);
    opened.clock.step(-365 * 86_400);
    await expect(issue(opened, root)).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(await accept(opened)).toMatchObject({ resumed: ["issuance", "mass_actions"] });
    await issue(opened, root);
    const { pauses, watch } = await restarted(opened);
    expect(pauses).toEqual([]);
    expect(watch.pause.ahead).toBeUndefined();
    const accepted = opened.store
      .listEvents()
      .find(({ action }) => action === "monitor.clock_accept");
    expect(accepted).toMatchObject({ result: "success", actor: "root" });
    expect(accepted?.detail).toStartWith(
      "resumed=issuance,mass_actions last_event=2027-06-01T12:00:00",
    );
  });

  test("changes nothing and is no event when nothing is paused", async () => {
    const opened = await world();
    const before = readChains(opened);
    expect(await accept(opened)).toMatchObject({ resumed: [] });
    expect(readChains(opened)).toBe(before);
  });

  test("holds against what a watch under way has read before it", async () => {
    const opened = await world();
    opened.clock.step(365 * 86_400);
    const { watch } = await restarted(opened);
    const { instance } = opened.store.read;
    const read = instance.value;
    const goOn = Promise.withResolvers<void>();
    instance.value = async (name) => {
      instance.value = read;
      const before = await read(name);
      await goOn.promise;
      return before;
    };
    const under = watch.watch();
    await watch.accept(rootOrigin);
    goOn.resolve();
    await under;
    expect(watch.pause.ahead).toBeUndefined();
    expect((await restarted(opened)).watch.pause.ahead).toBeUndefined();
  });

  test("of a pause that cannot be recorded resumes nothing", async () => {
    const opened = await world();
    opened.clock.step(-3600);
    expect(() => opened.clockWatch.refuseWhileBehind()).toThrow();
    await opened.clockWatch.watch();
    opened.store.checkWrite = (operation) => {
      if (operation === "audit.appendEvent") throw new Error("the disk is full");
    };
    await expect(accept(opened)).rejects.toThrow("full");
    expect(() => opened.clockWatch.refuseWhileBehind()).toThrow();
    expect((await restarted(opened)).watch.pause.behindUntil).toBeDefined();
  });
});

describe("the clock is believed against what says to be from its future", () => {
  test("while nothing happened, and after a leap ahead that was taken back; not while it stands ahead", async () => {
    const { clockWatch, clock } = await world();
    expect(clockWatch.believed).toBe(true);
    clock.step(400 * 86_400);
    expect(clockWatch.believed).toBe(false);
    clock.step(-400 * 86_400);
    expect(clockWatch.believed).toBe(true);
  });

  test("after a step back only once somebody has confirmed it, also after a restart", async () => {
    const opened = await world();
    opened.clock.advance(3600);
    await issue(opened, opened.root);
    opened.clock.step(-3000);
    await opened.clockWatch.watch();
    expect(opened.clockWatch.believed).toBe(false);
    const { watch } = await restarted(opened);
    expect(watch.believed).toBe(false);
    await watch.accept(rootOrigin);
    expect(watch.believed).toBe(true);
  });
});

test("a leap that was noticed just before the process ends is known to the next one", async () => {
  const opened = await world();
  opened.clock.step(400 * 86_400);
  expect(opened.clockWatch.pause.ahead).toBeDefined();
  // An event of the wrong time: from now on the last event says nothing about the leap.
  await issue(opened, opened.root);
  await opened.clockWatch.remember();
  const { watch } = await restarted(opened);
  expect(watch.pause.ahead).toBeDefined();
});
