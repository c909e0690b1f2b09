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
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { RevocationRecord } from "#domain/revocation/store.ts";
import { initRoot, leafRequest, rootOrigin } from "#test/support/worlds/issuance.ts";
import type { MemoryStore } from "#test/support/memory/store.ts";
import { rolloverWorld, sameAgain } from "#test/support/worlds/rollover.ts";

type World = Awaited<ReturnType<typeof rolloverWorld>>;
let world: World;
let state: MemoryStore["state"];
let leaf: Serial;
let revoked: Serial;

/** One of everything. */
beforeEach(async () => {
  world = await rolloverWorld();
  state = world.store.state;
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
  for (const { action, result, caId, serial, detail, timestamp } of state.events.values()) {
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
  for (const { kind, certificate, serial } of state.certificates.values()) {
    const digest = sha256Hex(certificate);
    certificates.add(digest);
    // Responders are no event; the sign ledger lists them.
    if (kind !== "responder" && !digests.has(digest)) found.push(`certificate ${serial}`);
  }
  for (const [digest, key] of digests) {
    if (!certificates.has(digest)) found.push(`missing ${key}`);
  }
  const entries = new Map(
    [...state.revocations.values()].map((row) => [
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
  expect(state.certificates.size).toBeGreaterThan(8);
  expect(state.revocations.size).toBe(4);
  expect(unbound()).toEqual([]);
});

test("a published list is bound by its digest", async () => {
  const { base } = await world.publisher.newest(world.issuing.id, "full");
  const told = [...state.events.values()].filter(({ action }) => action === "crl.publish");
  expect(told.some(({ detail }) => detail.endsWith(`sha256=${base?.sha256}`))).toBe(true);
});

const rowOf = (serial: Serial): [string, CertificateRecord] => {
  const found = [...state.certificates].find(([, row]) => row.serial === serial);
  if (found === undefined) throw new Error("it was issued");
  return found;
};
const entryOf = (serial: Serial): [string, RevocationRecord] => {
  const found = [...state.revocations].find(([, row]) => row.serial === serial);
  if (found === undefined) throw new Error("it was revoked");
  return found;
};

test("whoever edits or removes a certificate or a revocation in the tables is found", () => {
  const edits: Record<string, () => void> = {
    "an octet of a certificate": () => {
      const [key, row] = rowOf(leaf);
      const certificate = Uint8Array.from(row.certificate);
      certificate[100] = (certificate[100] ?? 0) ^ 1;
      state.certificates.set(key, { ...row, certificate });
    },
    "a certificate is gone": () => state.certificates.delete(rowOf(leaf)[0]),
    "a certificate nobody issued": () =>
      state.certificates.set("more", { ...rowOf(leaf)[1], certificate: Uint8Array.of(48, 0) }),
    "a revocation is gone": () => state.revocations.delete(entryOf(revoked)[0]),
    "another reason": () => {
      const [key, row] = entryOf(revoked);
      state.revocations.set(key, { ...row, reason: "superseded" });
    },
    "another time": () => {
      const [key, row] = entryOf(revoked);
      state.revocations.set(key, { ...row, revokedAt: world.clock.at });
    },
    "another number": () => {
      const [key, row] = entryOf(revoked);
      state.revocations.set(key, { ...row, sequence: 99 });
    },
    "a revocation nobody made": () => {
      const [, row] = entryOf(revoked);
      state.revocations.set("more", { ...row, serial: leaf });
    },
  };
  for (const [what, edit] of Object.entries(edits)) {
    const [certificates, revocations] = [new Map(state.certificates), new Map(state.revocations)];
    edit();
    expect([what, unbound().length > 0]).toEqual([what, true]);
    state.certificates.clear();
    for (const [key, row] of certificates) state.certificates.set(key, row);
    state.revocations.clear();
    for (const [key, row] of revocations) state.revocations.set(key, row);
    expect(unbound()).toEqual([]);
  }
});
