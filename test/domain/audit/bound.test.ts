/**
 * What the audit chain binds: every certificate, list and change of revocation, so that whoever
 * edits a row is found.
 */

import { beforeEach, expect, test } from "bun:test";

import { detailValues } from "#core/audit/detail.ts";
import { sha256Hex } from "#core/crypto.ts";
import type { Serial } from "#core/ids.ts";
import { parseTimestamp } from "#core/time.ts";
import { CrossSigning } from "#domain/hierarchy/cross-sign.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { initRoot, leafRequest, rootOrigin } from "#test/support/worlds/issuance.ts";
import type { MemoryStore } from "#test/support/stores/memory-store.ts";
import { rolloverWorld, sameAgain } from "#test/support/worlds/rollover.ts";

type World = Awaited<ReturnType<typeof rolloverWorld>>;
let world: World;
let store: MemoryStore;
let leaf: Serial;
let revoked: Serial;

/** One of everything. */
beforeEach(async () => {
  world = await rolloverWorld();
  ({ store } = world);
  const { issuing, root } = world;
  const issue = async () =>
    (await world.issuance.issue(rootOrigin, issuing, leafRequest())).record.serial;
  [leaf, revoked] = [await issue(), await issue()];
  const [held, released, swept] = [await issue(), await issue(), await issue()];
  const renewal = { serial: leaf, csr: undefined, validityDays: undefined };
  await world.issuance.renew(rootOrigin, issuing, { ...renewal, caller: "interactive" });
  const request = (ca: CaRecord, serial: Serial) => ({
    ca,
    serial,
    origin: rootOrigin,
    mayManageCa: true,
  });
  await world.revoker.revoke(request(issuing, revoked), "keyCompromise");
  await world.revoker.suspend(request(issuing, held));
  await world.revoker.suspend(request(issuing, released));
  world.clock.advance(60);
  await world.revoker.release(request(issuing, released));
  await world.revoker.revoke(request(issuing, "4711" as Serial), "superseded");
  await world.bulk.execute(rootOrigin, issuing, {
    operationId: "op-1",
    reason: "superseded",
    batchSize: 500,
    all: false,
    confirmed: undefined,
    selection: { serials: [swept], includeExpired: false },
  });
  const subject = { source: "local-ca" as const, ca: await initRoot(world, { label: "other" }) };
  const crossRequest = { subject, validityDays: undefined, maxPathLength: undefined };
  await new CrossSigning(world).sign(rootOrigin, root, crossRequest);
  await world.authorities.rotate(rootOrigin, issuing, sameAgain);
  await world.publisher.publishAll(issuing, rootOrigin);
});

/** What the tables say and no event does, and the other way round. */
function unbound(): string[] {
  const found: string[] = [];
  const digests = new Map<string, string>();
  const last = new Map<string, string>();
  for (const { action, result, caId, serial, detail, timestamp } of store.listEvents()) {
    if (result !== "success") continue;
    const told = detailValues(detail);
    const key = `${caId}/${serial}`;
    const digest = told.get("sha256");
    if (digest !== undefined && serial !== "") digests.set(digest, key);
    if (!/^cert\.(revoke|suspend|release)$/.test(action)) continue;
    const at = parseTimestamp(told.get("revoked_at") ?? timestamp);
    const entry = [told.get("reason"), told.get("sequence"), at].join(" ");
    last.set(key, action === "cert.release" ? "" : entry);
  }
  const certificates = new Set<string>();
  for (const { kind, certificate, serial } of store.listRows("certificates")) {
    const digest = sha256Hex(certificate);
    certificates.add(digest);
    // Responders are no event; the sign ledger lists them.
    if (kind !== "responder" && !digests.has(digest)) found.push(`certificate ${serial}`);
  }
  for (const [digest, key] of digests) {
    if (!certificates.has(digest)) found.push(`missing ${key}`);
  }
  const entries = new Map(
    store
      .listRows("revocations")
      .map((row) => [
        `${row.caId}/${row.serial}`,
        [row.reason, row.sequence, row.revokedAt].join(" "),
      ]),
  );
  for (const key of new Set([...last.keys(), ...entries.keys()])) {
    if ((last.get(key) ?? "") !== (entries.get(key) ?? "")) found.push(`revocation ${key}`);
  }
  return found;
}

test("after one of everything every row is bound by an event, and every event has its row", () => {
  expect(store.countRows("certificates")).toBeGreaterThan(8);
  expect(store.countRows("revocations")).toBe(4);
  expect(unbound()).toEqual([]);
});

test("a published list is bound by its digest", async () => {
  const { base } = await world.publisher.newest(world.issuing.id, "full");
  const told = store.listEvents().filter(({ action }) => action === "crl.publish");
  expect(told.some(({ detail }) => detail.endsWith(`sha256=${base?.sha256}`))).toBe(true);
});

const certificateOf = (serial: Serial): Uint8Array => {
  const found = store.listRows("certificates").find((row) => row.serial === serial);
  if (found === undefined) throw new Error("it was issued");
  return found.certificate;
};
/** Adds a copy of the rows of a serial to their table, with other values in some columns. */
async function insertCopy(table: string, serial: Serial, assignments: string): Promise<void> {
  await store.tamper(`create table copies as select * from ${table} where serial = '${serial}'`);
  await store.tamper(`update copies set ${assignments}`);
  await store.tamper(`insert into ${table} select * from copies`);
  await store.tamper("drop table copies");
}

test("whoever edits or removes a certificate or a revocation in the tables is found", async () => {
  const edits: Record<string, () => Promise<void>> = {
    "an octet of a certificate": () => {
      const certificate = Uint8Array.from(certificateOf(leaf));
      certificate[100] = (certificate[100] ?? 0) ^ 1;
      return store.tamper(
        "update certificates set certificate = ? where serial = ?",
        certificate,
        leaf,
      );
    },
    "a certificate is gone": () => store.tamper("delete from certificates where serial = ?", leaf),
    "a certificate nobody issued": () =>
      insertCopy("certificates", leaf, "ordinal = 1000, serial = '4712', certificate = x'3000'"),
    "a revocation is gone": () => store.tamper("delete from revocations where serial = ?", revoked),
    "another reason": () =>
      store.tamper("update revocations set reason = 'superseded' where serial = ?", revoked),
    "another time": () =>
      store.tamper(
        "update revocations set revoked_at = ? where serial = ?",
        world.clock.at,
        revoked,
      ),
    "another number": () =>
      store.tamper("update revocations set sequence = 99 where serial = ?", revoked),
    "a revocation nobody made": () => insertCopy("revocations", revoked, `serial = '${leaf}'`),
  };
  await store.tamper("create table certificates_before as select * from certificates");
  await store.tamper("create table revocations_before as select * from revocations");
  for (const [what, edit] of Object.entries(edits)) {
    await edit();
    expect([what, unbound().length > 0]).toEqual([what, true]);
    for (const table of ["certificates", "revocations"]) {
      await store.tamper(`delete from ${table}`);
      await store.tamper(`insert into ${table} select * from ${table}_before`);
    }
    expect(unbound()).toEqual([]);
  }
});
