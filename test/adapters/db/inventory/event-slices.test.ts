/**
 * A filter over a long audit chain finds what it would find at once, and leaves others their turn.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openStore } from "#adapters/db/open.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { tenantId } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type { Store } from "#domain/store.ts";

const count = 45_000;
const folder = mkdtempSync(join(tmpdir(), "pkid-events-"));
let store: Store;

beforeAll(async () => {
  store = await openStore(
    { driver: "sqlite", path: join(folder, "pkid.db"), busy_timeout_ms: 5000 },
    { clock: systemClock, random: systemRandom },
  );
  for (let seq = 1; seq <= count; ) {
    await store.atomically(async (tx) => {
      for (let many = 0; many < 5000; many++, seq++) {
        const action = seq % 1000 === 0 ? ("auth.login" as const) : ("auth.logout" as const);
        const tenant = tenantId(seq % 2 === 0 ? "even" : "odd");
        await tx.audit.appendEvent({ action, result: "success", actor: "a", tenant }, instant(seq));
      }
    });
  }
}, 120_000);
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const walk = async (filter: object, limit: number) => {
  const seqs: number[] = [];
  const totals = new Set<number>();
  for (let before: number | undefined; ; ) {
    const page = await store.read.audit.events({ reach: "platform", ...filter }, limit, before);
    seqs.push(...page.items.map(({ seq }) => seq));
    totals.add(page.total);
    if (page.next === undefined) return { seqs, totals: [...totals] };
    before = page.next.at;
  }
};

test("pages over all slices hold every match once, newest first, and each the same total", async () => {
  const { seqs, totals } = await walk({ action: "auth.login" }, 7);
  const expected = Array.from({ length: 45 }, (_, at) => (45 - at) * 1000);
  expect(seqs).toEqual(expected);
  expect(totals).toEqual([45]);
  const all = await store.read.audit.events({ reach: "platform" }, 3);
  expect([all.items.map(({ seq }) => seq), all.total]).toEqual([
    [count, count - 1, count - 2],
    count,
  ]);
  const later = await store.read.audit.events({ reach: "platform" }, 2, 2);
  expect([later.items.map(({ seq }) => seq), later.next, later.total]).toEqual([
    [1],
    undefined,
    count,
  ]);
});

test("a filter that fits nothing, and one that fits half, leave others their turn", async () => {
  for (const [filter, total] of [
    [{ actor: "b" }, 0],
    [{ tenant: tenantId("even") }, count / 2],
  ] as const) {
    let [turns, over] = [0, false];
    const look = () => {
      turns++;
      if (!over) setImmediate(look);
    };
    setImmediate(look);
    expect((await store.read.audit.events({ reach: "platform", ...filter }, 5)).total).toBe(total);
    over = true;
    expect(turns).toBeGreaterThanOrEqual(2);
  }
});
