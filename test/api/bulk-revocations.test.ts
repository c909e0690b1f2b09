/** Bulk revocation in JSON, through the pipeline: members, answers, refusals, and who may. */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { beforeEach, describe, expect, test } from "bun:test";

import { parseSerial } from "#core/ids.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { Problem, refuse } from "#core/problems.ts";
import { bulkRevocationHandlers } from "#api/bulk-revocations.ts";
import type { Origin } from "#domain/actor.ts";
import type { Perform } from "#domain/access/perform.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

let small: SmallCa;
let handlers: ReturnType<typeof bulkRevocationHandlers>;
let perform: Perform;
beforeEach(async () => {
  small = await smallCa();
  handlers = bulkRevocationHandlers({ ...small, profiles: () => new ProfileSet([]) });
  // A disk without room: revocation must not care (REV-3).
  perform = openPipeline({ ...small, hasRoom: () => false, onDecision: () => {} });
});

async function call(body: unknown, origin: Origin = rootOrigin) {
  const answer = await askJson(
    perform,
    {
      operation: "cert.revoke_bulk",
      origin,
      path: { id: small.ca.id },
      query: new URLSearchParams(),
      body: async () => body,
    },
    handlers["cert.revoke_bulk"],
  );
  return JSON.parse(JSON.stringify(answer.body));
}

const refusalOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error) => (error instanceof Problem ? error.code : String(error)),
  );
const certificate = (serial: string, commonName = "leaf") =>
  small.issue({ serial: parseSerial(serial), facts: { commonName } });

test("a dry run answers the plan with its sample", async () => {
  const { notAfter } = await certificate("7", "web");
  await certificate("8", "mail");
  const filter = { pattern: "WEB", serials: ["0x07", "007", "08", "00:00:0a"] };
  expect(await call({ dry_run: true, operation_id: "op", reason: "SUPERSEDED", filter })).toEqual({
    operation_id: "op",
    ca_id: small.ca.id,
    ca_label: small.ca.label,
    reason: "superseded",
    filter: "pattern=WEB serials=3",
    total: 2,
    known: 1,
    unknown: 1,
    held: 0,
    already_revoked: 0,
    filtered_out: 1,
    expired_excluded: 0,
    profiles: [{ profile: "server", count: 1 }],
    sample: [
      {
        ca_id: small.ca.id,
        serial: "7",
        common_name: "web",
        profile: "server",
        known: true,
        not_after: `${new Date(notAfter).toISOString().slice(0, -1)}000Z`,
      },
      { ca_id: small.ca.id, serial: "10", common_name: "", profile: "", known: false },
    ],
  });
});

test("a list is read in its serial_format, and a serial of another format is refused", async () => {
  await certificate("16");
  await certificate("10");
  const readSample = async (serial_format: string | undefined, serials: readonly string[]) => {
    const { sample } = await call({ dry_run: true, filter: { serials, serial_format } });
    return sample.map(({ serial }: { serial: string }) => serial);
  };
  expect(await readSample(undefined, ["10", "1A"])).toEqual(["10", "26"]);
  expect(await readSample("decimal", ["10", "0016"])).toEqual(["10", "16"]);
  expect(await readSample("hex", ["10", "0x0a", "0A", "00:1f"])).toEqual(["16", "10", "31"]);
  const refused = await refusalOf(readSample("decimal", ["10", "1A"]));
  expect(refused).toBe("bad_serial");
  const nine = "9".repeat(40);
  expect(await readSample(undefined, [nine])).toEqual([nine]);
});

test("an execution answers the result", async () => {
  await certificate("7");
  const result = await call({ all: true, confirm_count: 1, operation_id: "op" });
  expect(result).toEqual({
    operation_id: "op",
    ca_id: small.ca.id,
    reason: "unspecified",
    planned: 1,
    revoked: 1,
    upgraded: 0,
    already_skipped: 0,
    batches: 1,
    crl_scopes: ["full"],
    ocsp_invalidated: 1,
    presign_refreshed: 0,
    duration_seconds: 0,
  });
  const generated = await call({ all: true, force: true });
  expect(generated).toMatchObject({
    planned: 0,
    operation_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
});

test("BLK-1: an empty filter is refused, as a dry run too", async () => {
  for (const body of [{}, { filter: {} }, { filter: { include_expired: true } }]) {
    expect(await refusalOf(call({ ...body, dry_run: true }))).toBe("empty_selection");
    expect(await refusalOf(call({ ...body, force: true }))).toBe("empty_selection");
  }
});

describe("a member with a wrong value is refused by its name, and nothing happens", () => {
  test.each([
    [{ all: true }, "missing_field"],
    [{ all: true, confirm_count: -1 }, "invalid_field"],
    [{ all: true, confirm_count: 1.5 }, "invalid_field"],
    [{ all: true, force: true, batch_size: 0 }, "invalid_field"],
    [{ all: true, force: true, batch_size: 5001 }, "invalid_field"],
    [{ all: true, force: true, operation_id: "a b" }, "invalid_field"],
    [{ all: true, force: true, operation_id: "a".repeat(65) }, "invalid_field"],
    [{ all: true, force: true, reason: "removeFromCRL" }, "bad_reason"],
    [{ all: true, force: true, surprise: 1 }, "unknown_field"],
    [{ force: true, filter: { surprise: 1 } }, "unknown_field"],
    [{ force: true, filter: { serials: [] } }, "invalid_field"],
    [{ force: true, filter: { serials: ["-1"] } }, "bad_serial"],
    [{ force: true, filter: { serials: [7] } }, "invalid_field"],
    [{ force: true, filter: { pattern: "a[b" } }, "invalid_field"],
    [{ force: true, filter: { pattern: "" } }, "invalid_field"],
    [{ force: true, filter: { profile: "nobody" } }, "invalid_field"],
    [{ force: true, filter: { issued_after: "yesterday" } }, "invalid_field"],
    [{ force: true, filter: { public_key_sha256: "ab" } }, "bad_fingerprint"],
    [{ force: true, filter: null }, "invalid_field"],
  ])("%j", async (body, code) => {
    await certificate("7");
    const before = small.store.countRows("events");
    expect(await refusalOf(call(body))).toBe(code);
    expect(small.store.countRows("events")).toBe(before);
    expect(small.store.countRows("revocations")).toBe(0);
  });
});

test("a day and a time with any offset are times of issuance", async () => {
  await certificate("7"); // At noon of 2026-06-01 UTC.
  const total = async (filter: object) => (await call({ dry_run: true, filter })).total;
  expect(await total({ issued_after: "2026-06-01" })).toBe(1);
  expect(await total({ issued_after: "2026-06-02" })).toBe(0);
  expect(await total({ issued_before: "2026-06-01T14:00:00+02:00" })).toBe(1);
  expect(await total({ issued_before: "2026-06-01T13:59:59+02:00" })).toBe(0);
});

test("100,000 serials are one request, and one more is too many", async () => {
  const serials = Array.from({ length: 100_001 }, (_, at) => String(at + 1));
  expect(await refusalOf(call({ dry_run: true, filter: { serials } }))).toBe("invalid_field");
  const plan = await call({ dry_run: true, filter: { serials: serials.slice(1) } });
  expect(plan).toMatchObject({ total: 100_000, unknown: 100_000 });
  expect(plan.sample.length).toBe(20);
});

test("bulk revocation needs ca:manage, and a refusal is recorded as denied", async () => {
  const issuer = { ...rootOrigin.principal, isRoot: false, subject: "ina", roles: ["issuer"] };
  const origin: Origin = { ...rootOrigin, principal: { ...issuer, roles: ["issuer"] } };
  expect(await refusalOf(call({ dry_run: true, all: true }, origin))).toBe("forbidden");
  expect(small.store.listEvents().at(-1)).toMatchObject({
    action: "cert.revoke_bulk",
    result: "denied",
    actor: "ina",
  });
});

test("BLK-7: a run that stops midway tells how far it came", async () => {
  for (const serial of ["1", "2", "3"]) await certificate(serial);
  let batches = 0;
  small.store.checkWrite = (operation) => {
    if (operation === "bulkRevocations.advance" && ++batches === 3) {
      throw refuse("storage_unavailable");
    }
  };
  const body = { all: true, confirm_count: 3, operation_id: "op", batch_size: 1 };
  const stopped = await call(body).then(
    () => undefined,
    (error) => error,
  );
  expect(stopped).toMatchObject({
    code: "bulk_partial",
    status: 500,
    facts: { result: { operation_id: "op", planned: 3, revoked: 2, batches: 2 } },
  });
  expect(await call(body)).toMatchObject({ planned: 3, revoked: 3, batches: 3 });
});

test("REV-3: a suspended tenant's certificates are revoked all the same", async () => {
  await certificate("7");
  const row = await small.store.read.tenants.named("default");
  if (row === undefined) throw new Error("the built-in tenant is there");
  await small.store.atomically((tx) => tx.tenants.update({ ...row, status: "suspended" }));
  expect(await call({ all: true, confirm_count: 1 })).toMatchObject({ revoked: 1 });
});
