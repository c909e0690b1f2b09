/**
 * The rates of tenants: known by CA at once, read again every few seconds, kept while they cannot
 * be read.
 */

import { expect, test } from "bun:test";

import { caId, type TenantId } from "#core/ids.ts";
import { TenantRates } from "#domain/tenants/rates.ts";
import { unlimited } from "#domain/tenants/store.ts";
import { smallCa } from "#test/support/worlds/small-ca.ts";

async function world() {
  const { store, ca, clock } = await smallCa();
  const time = { ms: 0 };
  const failures: unknown[] = [];
  const setRate = (rateLimitPerSecond: number, rateLimitBurst: number) =>
    store.atomically(async (tx) => {
      const quotas = { ...unlimited, rateLimitPerSecond, rateLimitBurst };
      const facts = { slug: "t", name: "t", status: "active", kekLabel: "" } as const;
      const record = { ...facts, id: ca.tenant, quotas, createdAt: clock.now() };
      await tx.tenants.ensure(record);
      await tx.tenants.update(record);
    });
  const rates = new TenantRates({
    store,
    stopwatch: { elapsedMs: () => time.ms },
    onFailure: (error) => failures.push(error),
  });
  return { rates, ca, time, failures, setRate, store };
}

test("a tenant without a rate limits nothing, and neither does a CA nobody knows", async () => {
  const { rates, ca } = await world();
  await rates.refresh();
  expect([rates.of(ca.id), rates.of(caId("nobody"))]).toEqual([undefined, undefined]);
});

test("a rate is found by the CA; without a burst it is that of one second", async () => {
  const { rates, ca, setRate } = await world();
  await setRate(7, 0);
  await rates.refresh();
  const id: TenantId = ca.tenant;
  expect(rates.of(ca.id)).toEqual({ id, filling: { rate: 7, burst: 7 } });
  await setRate(7, 20);
  await rates.refresh();
  expect(rates.of(ca.id)?.filling.burst).toBe(20);
});

test("a changed rate is in force after a few seconds, without anybody waiting for it", async () => {
  const { rates, ca, time, setRate } = await world();
  expect(rates.of(ca.id)).toBeUndefined();
  await Bun.sleep(0);
  await setRate(5, 5);
  expect(rates.of(ca.id)).toBeUndefined();
  time.ms = 5000;
  expect(rates.of(ca.id)).toBeUndefined();
  await Bun.sleep(1);
  expect(rates.of(ca.id)?.filling.rate).toBe(5);
});

test("while the database is away the last rates stay in force", async () => {
  const { rates, ca, time, failures, setRate, store } = await world();
  await setRate(5, 5);
  await rates.refresh();
  const away = new TenantRates({
    store: {
      read: {
        ...store.read,
        tenants: { ...store.read.tenants, page: () => Promise.reject(new Error("away")) },
      },
    },
    stopwatch: { elapsedMs: () => time.ms },
    onFailure: (error) => failures.push(error),
  });
  expect(away.of(ca.id)).toBeUndefined();
  await Bun.sleep(1);
  expect(failures.length).toBe(1);
  expect(rates.of(ca.id)?.filling.rate).toBe(5);
});
