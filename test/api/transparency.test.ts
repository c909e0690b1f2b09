/**
 * Transparency over the pipeline: what issuing answers, the inventory, and the list of SCTs.
 */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { expect, test } from "bun:test";

import { certificateHandlers } from "#api/certificates.ts";
import { issuanceHandlers } from "#api/issuance.ts";
import { profileHandlers } from "#api/profiles.ts";
import { transparencyHandlers } from "#api/transparency.ts";
import { type CtWorld, ctWorld } from "#test/support/worlds/ct-world.ts";
import { csr, rootOrigin } from "#test/support/worlds/issuance.ts";

test("answer, inventory and profile say which logs gave an SCT", async () => {
  const down = { instead: () => new Response("", { status: 503 }) };
  await using world = await ctWorld({ "a-1": {}, "b-1": down }, { minScts: 2, failOpen: true });
  const ask = asking(world);
  const path = { id: world.root.id };

  const issued = await ask("cert.issue", { path, body: { csr: csr(), profile: "ct" } });
  expect(issued.ct).toEqual({
    enabled: true,
    embedded: true,
    sct_count: 1,
    operators: ["a"],
    status: "failed_open",
    logs: [
      { log: "a-1", operator: "a", ok: true },
      { log: "b-1", operator: "b", ok: false, error: "unavailable" },
    ],
  });
  const { serial } = issued;
  const shown = await ask("cert.show", { path: { ...path, serial } });
  expect(shown).toMatchObject({ ct_status: "failed_open", sct_count: 1, ct_logs: ["a-1"] });
  const plain = await ask("cert.issue", { path, body: { csr: csr() } });
  expect(plain.ct).toBeUndefined();
  const bare = await ask("cert.show", { path: { ...path, serial: plain.serial } });
  expect(bare).toMatchObject({ ct_status: "none", sct_count: 0 });
  expect(bare.ct_logs).toBeUndefined();

  const { items } = await ask("profile.list");
  expect(items.find(({ name }: { name: string }) => name === "ct").ct).toEqual({
    enabled: true,
    logs: [],
    min_scts: 2,
    fail_open: true,
    timeout_seconds: 5,
    retries: 0,
  });
});

test("the list of SCTs says which logs still owe the inclusion, and which have kept their word", async () => {
  const down = { instead: () => new Response("", { status: 503 }) };
  await using world = await ctWorld({ "a-1": {}, "b-1": down }, { minScts: 2, failOpen: true });
  const ask = asking(world);
  const asked = { path: { id: world.root.id }, body: { csr: csr(), profile: "ct" } };
  const { serial } = await ask("cert.issue", asked);

  const waiting = await ask("ct.inclusion", { query: `serial=${serial}&ca=root` });
  const counts = { pending: 1, included: 0, failed: 0, unknown_log: 0 };
  expect(waiting).toMatchObject({ total: 1, counts });
  expect(waiting.items[0]).toEqual({
    ca_id: world.root.id,
    serial,
    log_name: "a-1",
    log_id: world.log("a-1").logId.toHex(),
    sct_timestamp: "2026-06-01T12:00:00.000000Z",
    status: "pending",
    checks: 0,
    alerted: false,
  });
  world.clock.advance(86_400);
  expect(await ask("ct.verify", { body: { max: 5 } })).toEqual({
    checked: 1,
    included: 1,
    failed: 0,
    unknown: 0,
  });
  const kept = await ask("ct.inclusion", { query: "status=included" });
  expect(kept.items).toMatchObject([{ serial, leaf_index: 0, tree_size: 1, checks: 1 }]);
  expect(kept.counts).toEqual({ ...counts, pending: 0, included: 1 });
  expect(kept.items[0].included_at).toBe("2026-06-02T12:00:00.000000Z");
  await expect(ask("ct.inclusion", { query: "status=lost" })).rejects.toMatchObject({
    code: "bad_query",
  });
  await expect(ask("ct.inclusion", { query: "ca=nobody" })).rejects.toMatchObject({
    code: "bad_query",
  });
});

function asking(world: CtWorld) {
  const { monitor } = world.transparency;
  const handlers = {
    ...certificateHandlers(world),
    ...issuanceHandlers(world),
    ...profileHandlers(world),
    ...transparencyHandlers({ ...world, monitor }),
  };
  const perform = openPipeline({ ...world });
  return async (operation: keyof typeof handlers, asked: Asked = {}) => {
    const { path = {}, body } = asked;
    const query = new URLSearchParams(asked.query ?? "");
    const call = { operation, origin: rootOrigin, path, query, body: async () => body };
    const answer = await askJson(perform, call, handlers[operation]);
    return JSON.parse(JSON.stringify(answer.body));
  };
}

type Asked = { path?: Record<string, string>; query?: string; body?: unknown };
