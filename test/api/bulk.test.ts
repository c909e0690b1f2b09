/**
 * Bulk issue through the pipeline: plan, confirmation, results per item, and repetition after
 * faults.
 */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { beforeEach, expect, test } from "bun:test";

import { bulkHandlers } from "#api/bulk.ts";
import { defaultTenant } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { BulkIssue } from "#domain/certificates/bulk.ts";
import {
  csr,
  initRoot,
  issuanceWorld,
  rootOrigin,
  type World,
} from "#test/support/worlds/issuance.ts";

let world: World;
let id: string;
let ask: (body: object, ca?: string) => Promise<Json>;
beforeEach(async () => {
  world = issuanceWorld({ urlBase: "https://pki.example" });
  id = (await initRoot(world)).id;
  const perform = openPipeline({ ...world });
  const handlers = bulkHandlers({ bulk: new BulkIssue(world), itemGate: async () => undefined });
  const operation = "cert.issue_bulk" as const;
  ask = async (body, ca = id) => {
    const call = { operation, origin: rootOrigin, path: { id: ca }, query: new URLSearchParams() };
    const answer = await askJson(perform, { ...call, body: async () => body }, handlers[operation]);
    return JSON.parse(JSON.stringify(answer.body));
  };
});
// biome-ignore lint/suspicious/noExplicitAny: answers are read member by member, as a client reads them.
type Json = any;

const refusalOf = (promise: Promise<unknown>) =>
  promise.then(
    () => ({ code: "accepted", facts: {} }),
    (error) => {
      if (!(error instanceof Problem)) throw error;
      return { code: error.code as string, facts: error.facts };
    },
  );
const itemsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ csr: csr({ dns: [`n${at}.example`] }) }));
const leaves = () => world.store.listRows("certificates").filter(({ kind }) => kind === "leaf");
const events = (action: string) =>
  world.store.listEvents().filter((event) => event.action === action);

test("a run asks before every item whether its maker still may, and stops with what was issued", async () => {
  let left = 3;
  world.becoming((then) => (left-- > 0 ? then : { ...then, isRoot: false, roles: ["auditor"] }));
  const items = itemsOf(5);
  const order = { items, confirm_count: 5, operation_id: "op", concurrency: 1 };
  const partial = await ask(order);
  expect(partial).toMatchObject({ issued: 3, failed: 2 });
  expect(partial.items[4]).toMatchObject({ status: "failed", error_code: "forbidden" });
  expect(leaves()).toHaveLength(3);
  world.becoming((then) => then);
  expect(await ask(order)).toMatchObject({ issued: 5, failed: 0 });
});

test("a plan judges each item, writes nothing and names an operation", async () => {
  const before = world.store.countRows("events");
  const items = [
    { ref: "good", csr: csr() },
    { csr: csr({ dns: ["-bad-.example"] }) },
    { csr: "x" },
  ];
  const plan = await ask({ dry_run: true, items });
  expect(plan).toMatchObject({
    ca_id: id,
    ca_label: "root",
    requested: 3,
    valid: 1,
    invalid: 2,
    need_approval: 0,
    operation_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(plan.items).toMatchObject([
    { ref: "good", index: 0, valid: true, subject: "CN=a.example", sans: ["dns:a.example"] },
    { ref: "#1", index: 1, valid: false, profile: "server", error_code: "gate_refused" },
    { ref: "#2", index: 2, valid: false, error_code: "bad_csr" },
  ]);
  expect(leaves()).toHaveLength(0);
  expect(world.store.countRows("events")).toBe(before);
  expect(world.store.countRows("bulkOperations")).toBe(0);
});

test("an execution wants the number of items confirmed", async () => {
  const items = itemsOf(2);
  expect((await refusalOf(ask({ items }))).code).toBe("missing_field");
  expect(await refusalOf(ask({ items, confirm_count: 3 }))).toEqual({
    code: "confirm_count_mismatch",
    facts: { confirm_count: 3, actual_count: 2 },
  });
  expect((await refusalOf(ask({ items: [], confirm_count: 1 }))).code).toBe("invalid_field");
  expect(leaves()).toHaveLength(0);
});

test("each item has its own result and event, and the run one summary", async () => {
  const items = [...itemsOf(3), { csr: csr({ dns: ["-bad-.example"] }), ref: "bad" }];
  const result = await ask({ items, confirm_count: 4, operation_id: "op-1", concurrency: 2 });
  expect(result).toMatchObject({ operation_id: "op-1", requested: 4, issued: 3, failed: 1 });
  expect(result.items.map(({ status }: Json) => status)).toEqual([
    "issued",
    "issued",
    "issued",
    "failed",
  ]);
  expect(result.items[3]).toMatchObject({ ref: "bad", error_code: "gate_refused" });
  expect(result.items[0].chain).toStartWith(result.items[0].certificate);
  expect(
    leaves()
      .map(({ serial }) => String(serial))
      .sort(),
  ).toEqual(
    result.items
      .slice(0, 3)
      .map(({ serial }: Json) => serial)
      .sort(),
  );
  expect(events("cert.issue").filter(({ result: word }) => word === "success")).toHaveLength(3);
  expect(events("cert.issue_bulk")).toMatchObject([
    { target: id, targetName: "root", detail: "op=op-1 requested=4 issued=3 pending=0 failed=1" },
  ]);
});

test("a repetition answers the same certificates and changes and records nothing", async () => {
  const order = { items: itemsOf(3), confirm_count: 3, operation_id: "op-1" };
  const first = await ask(order);
  const recorded = world.store.countRows("events");
  const second = await ask(order);
  expect(second.items).toEqual(first.items);
  expect(leaves()).toHaveLength(3);
  expect(world.store.countRows("events")).toBe(recorded);
});

test("after a fault in the middle a repetition issues only what is missing", async () => {
  const order = { items: itemsOf(6), confirm_count: 6, operation_id: "op-1", concurrency: 1 };
  let signed = 0;
  world.keys.checkTicket = async () => {
    signed++;
    if (signed > 3) throw new Problem("key_unavailable", { retry_after: 2 });
  };
  const first = await ask(order);
  expect(first).toMatchObject({ issued: 3, failed: 3 });
  expect(signed).toBe(4);
  world.keys.checkTicket = async () => {};
  const second = await ask(order);
  expect(second).toMatchObject({ issued: 6, failed: 0 });
  expect(second.items.slice(0, 3)).toEqual(first.items.slice(0, 3));
  expect(leaves()).toHaveLength(6);
  const digests = new Set(leaves().map(({ spkiSha256 }) => spkiSha256));
  expect(digests.size).toBe(6);
});

test("an item and its certificate are stored together or not at all", async () => {
  const order = { items: itemsOf(1), confirm_count: 1, operation_id: "op-1" };
  world.store.checkWrite = (operation) => {
    if (operation === "bulk.settle") throw new Problem("storage_unavailable", { retry_after: 1 });
  };
  expect(await ask(order)).toMatchObject({ issued: 0, failed: 1 });
  expect(leaves()).toHaveLength(0);
  world.store.checkWrite = () => {};
  expect(await ask(order)).toMatchObject({ issued: 1 });
  expect(leaves()).toHaveLength(1);
});

test("an operation id stands for one request, and means nothing to another lineage", async () => {
  const items = itemsOf(2);
  await ask({ items, confirm_count: 2, operation_id: "op-1" });
  const mismatch = { code: "operation_mismatch", facts: { operation_id: "op-1" } };
  const other = { items: items.toReversed(), confirm_count: 2, operation_id: "op-1" };
  expect(await refusalOf(ask(other))).toEqual(mismatch);
  const second = await initRoot(world, { label: "second" });
  // Whoever chose it there neither shows here nor is in the way, with the same request or another
  // one.
  expect(await ask(other, second.id)).toMatchObject({ operation_id: "op-1", issued: 2 });
  expect(await refusalOf(ask({ ...other, items }, second.id))).toEqual(mismatch);
  expect(leaves()).toHaveLength(4);
});

test("the same operation does not run twice at a time", async () => {
  const order = { items: itemsOf(2), confirm_count: 2, operation_id: "op-1" };
  const [first, second] = await Promise.all([ask(order), refusalOf(ask(order))]);
  expect(first.issued).toBe(2);
  expect(second.code).toBe("operation_running");
  expect(leaves()).toHaveLength(2);
});

test("a profile that wants an approval is counted, and nothing is issued with it", async () => {
  const server = new ProfileSet().named("server");
  world.setProfiles([{ ...server, name: "guarded", requireApproval: true }]);
  const items = itemsOf(2).map((item) => ({ ...item, profile: "guarded" }));
  expect(await ask({ dry_run: true, items })).toMatchObject({ need_approval: 2, valid: 0 });
  expect(await ask({ items, confirm_count: 2 })).toMatchObject({ issued: 0, failed: 2 });
});

test("never more items than asked are worked on at a time", async () => {
  let [now, most] = [0, 0];
  world.keys.checkTicket = async () => {
    now++;
    most = Math.max(most, now);
    await Promise.resolve();
    now--;
  };
  await ask({ items: itemsOf(12), confirm_count: 12, concurrency: 3 });
  expect(most).toBeLessThanOrEqual(3);
});

test("TEN-1: each item counts against the quota, and a repetition goes on when there is room again", async () => {
  const set = (maxCertsPerDay: number) =>
    world.store.atomically(async (tx) => {
      const tenant = await tx.tenants.lock(defaultTenant);
      if (tenant === undefined) throw new Error("the default tenant is not there");
      await tx.tenants.update({ ...tenant, quotas: { ...tenant.quotas, maxCertsPerDay } });
    });
  await set(3);
  const run = { items: itemsOf(8), confirm_count: 8, operation_id: "metered" };
  const first = await ask(run);
  expect(first).toMatchObject({ requested: 8, issued: 3, failed: 5 });
  const failed = first.items.filter(({ status }: Json) => status === "failed");
  for (const item of failed) expect(item.error_code).toBe("quota_exceeded");
  await set(8);
  expect(await ask(run)).toMatchObject({ issued: 8, failed: 0 });
  expect(leaves()).toHaveLength(8);
});
