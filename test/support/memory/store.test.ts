/** The memory store keeps what every store guarantees, so that tests built on it mean something. */

import { expect, test } from "bun:test";

import { violation } from "#core/audit/chain.ts";
import { genesis } from "#core/audit/chain.ts";
import { instant } from "#core/time.ts";
import { seededRandom } from "#test/support/ports.ts";

import { openMemoryStore } from "./store.ts";

const draft = { action: "cert.issue", result: "success", actor: "root" } as const;

test("a unit that throws leaves nothing behind, and the next one commits", async () => {
  const store = openMemoryStore();
  const failing = store.atomically(async (tx) => {
    await tx.audit.appendEvent(draft, instant(1));
    throw new Error("no");
  });
  expect(failing).rejects.toThrow("no");
  await store.atomically((tx) => tx.audit.appendEvent(draft, instant(2)));
  const events = await store.read.audit.eventsAfter(0, 10);
  expect(events.map((event) => event.seq)).toEqual([1]);
});

test("events link and recompute", async () => {
  const store = openMemoryStore();
  const heard: number[] = [];
  store.onEvents((events) => heard.push(...events.map((event) => event.seq)));
  for (const second of [1, 2, 3]) {
    await store.atomically((tx) => tx.audit.appendEvent(draft, instant(second)));
  }
  let head = genesis;
  for (const event of await store.read.audit.eventsAfter(0, 10)) {
    expect(violation(head, event)).toBeUndefined();
    head = event;
  }
  expect(await store.read.audit.eventHead()).toEqual({ seq: 3, hash: head.hash });
  await store.close();
  expect(heard).toEqual([1, 2, 3]);
});

test("a write can be made to fail", async () => {
  const store = openMemoryStore();
  store.beforeWrite = (operation) => {
    if (operation === "audit.appendEvent") throw new Error("audit is down");
  };
  const unit = store.atomically((tx) => tx.audit.appendEvent(draft, instant(1)));
  expect(unit).rejects.toThrow("audit is down");
});

test("seeded randomness repeats itself and has the form of its kind", () => {
  expect(seededRandom("a").uuid()).toBe(seededRandom("a").uuid());
  expect(seededRandom("a").uuid()).toMatch(
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
});
