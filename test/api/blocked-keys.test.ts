/**
 * Blocked keys in JSON, through the pipeline: each way to name a key, answers, refusals, and that
 * issuance obeys.
 */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { beforeEach, expect, test } from "bun:test";

import { blockedKeyHandlers } from "#api/blocked-keys.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { Problem } from "#core/problems.ts";
import { fingerprint } from "#core/x509/public-keys.ts";
import { BlockedKeys } from "#domain/key-checks/block.ts";
import {
  csr,
  initRoot,
  issuanceWorld,
  leafRequest,
  newKey,
  rootOrigin,
  spkiOf,
  type World,
} from "#test/support/worlds/issuance.ts";

let world: World;
beforeEach(() => {
  world = issuanceWorld();
});

type Handlers = ReturnType<typeof blockedKeyHandlers>;

async function call(
  operation: keyof Handlers,
  given: { body?: unknown; id?: string; query?: string },
) {
  const handlers = blockedKeyHandlers({ store: world.store, blockedKeys: new BlockedKeys(world) });
  const perform = openPipeline({ ...world });
  const path: Record<string, string> = given.id === undefined ? {} : { id: given.id };
  const query = new URLSearchParams(given.query ?? "");
  const asked = { operation, origin: rootOrigin, path, query, body: async () => given.body };
  const answer = await askJson(perform, asked, handlers[operation]);
  return { status: answer.status, body: JSON.parse(JSON.stringify(answer.body)) };
}

const refusalOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error) => (error instanceof Problem ? error.code : String(error)),
  );
const key = newKey("ecdsa-p256");
const name = fingerprint(spkiOf(key.publicKey));
const record = {
  public_key_fingerprint: name,
  reason: "leaked",
  source: "api",
  created_by: "root",
};

test("a key is blocked once, and again answers the row that is there", async () => {
  const body = { public_key_sha256: name, reason: "leaked" };
  const first = await call("key.block", { body });
  expect(first).toMatchObject({ status: 201, body: { ...record, matching_certificates: 0 } });
  const second = await call("key.block", { body: { ...body, reason: "other" } });
  expect(second).toMatchObject({ status: 200, body: { id: first.body.id, reason: "leaked" } });
  const events = world.store.listEvents().map(({ action, target, detail }) => ({
    action,
    target,
    detail,
  }));
  expect(events).toEqual([
    { action: "key.block", target: name, detail: "reason=leaked source=api" },
  ]);
});

test("a certificate, a request and a public key name the same key", async () => {
  const root = await initRoot(world);
  const request = csr({ key });
  const issued = await world.issuance.issue(rootOrigin, root, leafRequest({ csr: request }));
  const certificate = encodePem("CERTIFICATE", issued.certificate);
  const publicKey = String(key.publicKey.export({ type: "spki", format: "pem" }));
  const ways = [{ certificate }, { csr: request }, { public_key: publicKey }];
  for (const way of ways) {
    const { body } = await call("key.block", { body: { ...way, reason: "leaked" } });
    expect(body).toMatchObject({ ...record, matching_certificates: 1 });
  }
});

test("none, several, and what cannot be read are refused", async () => {
  const code = (body: object) => refusalOf(call("key.block", { body: { reason: "x", ...body } }));
  expect(await code({})).toBe("missing_field");
  expect(await code({ public_key_sha256: name, csr: "x" })).toBe("conflicting_fields");
  expect(await code({ public_key_sha256: "12" })).toBe("bad_fingerprint");
  expect(await code({ certificate: "x" })).toBe("bad_certificate");
  expect(await code({ csr: "x" })).toBe("bad_csr");
  expect(await code({ public_key: "x" })).toBe("bad_key");
  const broken = encodePem("PUBLIC KEY", Uint8Array.of(48, 1, 0));
  expect(await code({ public_key: broken })).toBe("bad_key");
  expect(await code({ public_key_sha256: name, reason: "" })).toBe("invalid_field");
  expect(await refusalOf(call("key.block", { body: { public_key_sha256: name } }))).toBe(
    "missing_field",
  );
});

test("the list is searched by reason and by key, and a removed key is free again", async () => {
  const { body } = await call("key.block", { body: { public_key_sha256: name, reason: "leaked" } });
  const listed = (query: string) => call("blocked_key.list", { query });
  expect((await listed("q=LEAK")).body).toMatchObject({ items: [record], total: 1 });
  expect((await listed("q=other")).body).toMatchObject({ items: [], total: 0 });
  expect((await listed(`public_key_sha256=${encodeURIComponent(name)}`)).body.total).toBe(1);
  expect(await refusalOf(listed("public_key_sha256=12"))).toBe("bad_fingerprint");
  expect(await call("key.unblock", { id: body.id })).toEqual({
    status: 200,
    body: { status: "deleted" },
  });
  expect(await refusalOf(call("key.unblock", { id: body.id }))).toBe("not_found");
  expect((await listed("")).body.total).toBe(0);
  const actions = world.store.listEvents().map(({ action }) => action);
  expect(actions).toEqual(["key.block", "key.unblock"]);
});
