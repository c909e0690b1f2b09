/**
 * The ceremony: record before signing, one unit per change and event, and what failures leave
 * behind.
 */

import { beforeEach, describe, expect, test } from "bun:test";

import { sha256Hex } from "#core/crypto.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { Problem, refuse } from "#core/problems.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { parseCsr } from "#core/x509/csr.ts";
import { NothingWritten } from "#domain/store.ts";
import { reconcileIntents } from "#domain/certificates/reconcile.ts";
import { parseSerial } from "#core/ids.ts";
import { drawSerial } from "#domain/certificates/serials.ts";
import type { IssueRequest } from "#domain/certificates/issue.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { seededRandom } from "#test/support/ports.ts";
import {
  csr,
  initRoot,
  issuanceWorld,
  leafRequest,
  rootOrigin,
  type World,
} from "#test/support/worlds/issuance.ts";

let world: World;
let root: CaRecord;
beforeEach(async () => {
  world = issuanceWorld({ urlBase: "https://pki.example" });
  root = await initRoot(world);
});

const issue = (request: Partial<IssueRequest> = {}) =>
  world.issuance.issue(rootOrigin, root, leafRequest(request));
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error) => (error instanceof Problem ? error.code : String(error)),
  );
const events = () => world.store.listEvents();
const ledger = () => world.store.listLedger();
const serials = () => world.store.listSerials();
const lastEvent = () => events().at(-1);

test("an issued certificate is in the inventory and in the chain, and its intent is settled", async () => {
  const { record, serial, caId } = await issue();
  expect(caId).toBe(root.id);
  const stored = await world.store.read.certificates.bySerial(root.id, serial);
  expect(stored).toEqual(record);
  expect(record).toMatchObject({
    kind: "leaf",
    commonName: "a.example",
    sans: ["dns:a.example"],
    status: "good",
    profile: "server",
    requestedBy: "root",
    marker: "",
    subject: "CN=a.example",
  });
  expect(serials().at(-1)).toMatchObject({ serial, state: "issued" });
  expect(lastEvent()).toMatchObject({
    action: "cert.issue",
    result: "success",
    serial,
    caId: root.id,
    target: root.id,
    targetName: serial,
    actor: "root",
    ip: "192.0.2.7",
    requestId: "request-1",
    detail: `profile=server not_after=2027-07-03T11:54:59.000000Z ct=none requester=root sha256=${sha256Hex(record.certificate)}`,
  });
});

test("the ledger holds the digest of exactly what was signed, before and after", async () => {
  let open: readonly { readonly tbsDigest: string }[] = [];
  world.keys.checkTicket = () => {
    open = world.store.listRows("openIntents");
  };
  const { certificate, serial } = await issue();
  const digest = sha256Hex(parseCertificate(certificate).tbs);
  const [intent, outcome] = ledger().slice(-2);
  expect(intent).toMatchObject({
    kind: "intent",
    digest,
    purpose: "certificate",
    artifact: serial,
  });
  expect(outcome).toMatchObject({ kind: "outcome", digest, result: "success" });
  expect(outcome?.signatureSha256).toBe(sha256Hex(parseCertificate(certificate).signature));
  expect(open.map(({ tbsDigest }) => tbsDigest)).toEqual([digest]);
});

test("the intent is durable before the key is used, and nothing is visible until the commit", async () => {
  let seen: unknown;
  world.keys.checkTicket = async ({ opId }) => {
    const open = await world.store.read.audit.openLedgerIntents(10);
    const intent = world.store.listRows("openIntents").find((row) => row.opId === opId);
    const reserved = serials().find(({ serial }) => serial === intent?.serial);
    const serial = parseSerial(intent?.serial ?? "1");
    const certificate = await world.store.read.certificates.bySerial(root.id, serial);
    seen = { open: open.map((entry) => entry.opId), state: reserved?.state, certificate, opId };
  };
  await issue();
  expect(seen).toMatchObject({ state: "intended", certificate: undefined });
  expect((seen as { open: string[]; opId: string }).open).toEqual([
    (seen as { opId: string }).opId,
  ]);
});

test("a refusal of a gate touches no key, takes no serial, and is two denied events", async () => {
  const before = { signed: world.keys.signed.length, serials: serials().length };
  const refused = issue({ csr: csr({ dns: ["-bad-.example"] }) });
  expect(await codeOf(refused)).toBe("gate_refused");
  expect(world.keys.signed).toHaveLength(before.signed);
  expect(serials()).toHaveLength(before.serials);
  expect(events().slice(-2)).toMatchObject([
    { action: "cert.lint", result: "denied", detail: "profile=server findings=san_dns_syntax" },
    {
      action: "cert.issue",
      result: "denied",
      detail: "profile=server requester=root reasons=lint",
    },
  ]);
});

test("whoever is refused again and again leaves one trace a minute, of each set of gates that refused", async () => {
  const bad = csr({ dns: ["-bad-.example"] });
  const denied = () => events().filter(({ result }) => result === "denied");
  for (let time = 0; time < 20; time++) {
    expect(await codeOf(issue({ csr: bad }))).toBe("gate_refused");
    const waiting = world.issuance.admissible(rootOrigin, root, leafRequest({ csr: bad }));
    expect(await codeOf(waiting)).toBe("gate_refused");
  }
  expect(denied().map(({ action }) => action)).toEqual(["cert.lint", "cert.issue"]);
  world.clock.advance(61);
  await world.refusals.fold();
  expect(denied().slice(2)).toMatchObject([
    { action: "cert.lint", detail: "profile=server findings=san_dns_syntax count=39" },
    { action: "cert.issue", detail: "profile=server requester=root reasons=lint count=39" },
  ]);
});

test("the refusal carries every gate with its findings", async () => {
  const error = await issue({ csr: csr({ dns: ["-bad-.example"] }) }).catch((e: Problem) => e);
  if (!(error instanceof Problem)) throw new Error("the gate let it pass");
  expect(error.facts.gates).toContainEqual({
    name: "lint",
    status: "fail",
    findings: [expect.objectContaining({ code: "san_dns_syntax", mode: "error" })],
  });
});

test("a DNS name that is an address to some is refused before it is planned", async () => {
  for (const value of ["8.8.8.8", "127.1", "2130706433", "a.0x7f000001"]) {
    const error = await issue({ csr: csr({ dns: ["a.example", value] }) }).catch((e: Problem) => e);
    if (!(error instanceof Problem)) throw new Error(`${value} was certified`);
    expect(error.code).toBe("bad_csr");
    expect(error.facts).toEqual({ reason: `the DNS name ${value} is a number` });
  }
});

test("a mailbox or URI with control characters makes a request unreadable", () => {
  for (const kind of ["email", "uri"] as const) {
    const sans = [{ kind, value: "urn:a\0@b.example" }];
    const asked = csr({ sans });
    expect(() => parseCsr(asked)).toThrow("a name has control characters");
  }
});

test("whatever the profile relaxes, control characters and a second common name are refused", async () => {
  const relaxed = new ProfileSet().named("client");
  world.setProfiles([{ ...relaxed, name: "lax", lint: { ...relaxed.lint, disabled: true } }]);
  const lax = (...values: readonly string[]) =>
    codeOf(
      issue({
        csr: csr({ subject: values.map((value) => ({ type: "CN", value })) }),
        profile: "lax",
      }),
    );
  expect(await lax("evil.test\0.a.example")).toBe("gate_refused");
  expect(await lax("evil.test", "a.example")).toBe("gate_refused");
  expect(await lax("a.example")).toBe("accepted");
});

test("a request whose signature is not by the key inside is refused without a trace", async () => {
  const before = events().length;
  expect(await codeOf(issue({ csr: csr({ stolen: true }) }))).toBe("bad_csr");
  expect(events()).toHaveLength(before);
});

test("an unknown profile is refused", async () => {
  expect(await codeOf(issue({ profile: "Server" }))).toBe("unknown_profile");
});

test("a validity one day above the profile is refused to people and shortened for protocols", async () => {
  expect(await codeOf(issue({ validityDays: 397 }))).toBe("accepted");
  expect(await codeOf(issue({ validityDays: 398 }))).toBe("validity_exceeds_limit");
  const { clamped } = await issue({ validityDays: 398, caller: "protocol" });
  expect(clamped).toBe("profile");
  expect(lastEvent()?.detail).toContain("validity_clamped=profile");
});

test("a failing provider abandons the intent, closes the ledger as failed, and is an error event", async () => {
  world.keys.checkTicket = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  expect(await codeOf(issue())).toBe("key_unavailable");
  expect(serials().at(-1)?.state).toBe("abandoned");
  expect(ledger().at(-1)).toMatchObject({ result: "error", error: "key_unavailable" });
  expect(lastEvent()).toMatchObject({ action: "cert.issue", result: "error" });
  expect(world.store.countRows("certificates")).toBe(1);
});

test("when the event cannot be appended nothing is issued, and the intent waits for reconciliation", async () => {
  world.store.checkWrite = (operation) => {
    if (operation === "audit.appendEvent") throw refuse("storage_unavailable");
  };
  expect(await codeOf(issue())).toBe("storage_unavailable");
  expect(world.store.countRows("certificates")).toBe(1);
  expect(serials().at(-1)?.state).toBe("intended");
});

describe("an error after the signature that wrote nothing for sure", () => {
  const surely = () => {
    const refusal = refuse("storage_unavailable", { retry_after: 2 });
    refusal.cause = new NothingWritten("the connection was lost before the commit");
    return refusal;
  };

  for (const [what, fault, word] of [
    ["a fault of the driver", () => new Error("invalid byte sequence"), "internal"],
    ["a database that was lost before the commit", surely, "storage_unavailable"],
  ] as const) {
    test(`abandons the intent and closes the ledger: ${what}`, async () => {
      let failures = 0;
      world.store.checkWrite = (operation) => {
        if (operation === "certificates.activate" && failures++ === 0) throw fault();
      };
      await expect(issue()).rejects.toThrow();
      expect(serials().at(-1)?.state).toBe("abandoned");
      expect(ledger().at(-1)).toMatchObject({ result: "error", error: word });
      expect(world.store.countRows("certificates")).toBe(1);
      expect(await reconcileIntents(world.store, world.clock)).toEqual([]);
    });
  }

  test("abandons the intent before the next certificate when the database stays away for a while", async () => {
    world.store.checkWrite = (operation) => {
      if (["certificates.activate", "certificates.settle"].includes(operation)) throw surely();
    };
    expect(await codeOf(issue())).toBe("storage_unavailable");
    expect(serials().at(-1)?.state).toBe("intended");
    world.store.checkWrite = () => {};
    await issue();
    expect(serials().map(({ state }) => state)).toEqual(["issued", "issued", "abandoned"]);
  });
});

test("start-up orphans what a crash left, closes its ledger entry as unknown, and does so once", async () => {
  world.store.checkWrite = (operation) => {
    if (operation === "certificates.activate") throw refuse("storage_unavailable");
  };
  await codeOf(issue());
  world.store.checkWrite = () => {};
  const orphans = await reconcileIntents(world.store, world.clock);
  expect(orphans.map(({ state }) => state)).toEqual(["orphaned"]);
  expect(ledger().at(-1)).toMatchObject({ kind: "outcome", result: "unknown" });
  expect(await reconcileIntents(world.store, world.clock)).toEqual([]);
  expect((await world.store.read.certificates.orphans(root.id, 10)).total).toBe(1);
});

test("a serial that is taken is drawn anew, and three in a row are a broken random source", async () => {
  const draws = seededRandom("serials");
  const taken = draws.bytes(16);
  let collisions = 0;
  const random = {
    uuid: () => draws.uuid(),
    bytes: (length: number) => (collisions-- > 0 ? Uint8Array.from(taken) : draws.bytes(length)),
  };
  world = issuanceWorld({ random });
  collisions = 1;
  root = await initRoot(world);
  collisions = 2;
  const { serial } = await issue();
  expect(serial === root.serial).toBe(false);
  collisions = 3;
  expect(await codeOf(issue())).toContain("random source is broken");
});

test("REC-1: serials are 16 octets with the top bit cleared, never zero", () => {
  const octets = [new Uint8Array(16), new Uint8Array(16).fill(0xff)];
  const random = { uuid: () => "", bytes: () => octets.shift() ?? new Uint8Array(16) };
  expect(BigInt(drawSerial(random).value)).toBe((1n << 127n) - 1n);
});

test("an expired CA signs nothing", async () => {
  world.clock.advance(3651 * 86_400);
  expect(await codeOf(issue())).toBe("ca_not_active");
});

test("a superseded or retired id signs with the active member and says so; pending ones refuse, and all without one", async () => {
  const successor = await initRoot(world, { label: "successor" });
  const supersede = "update cas set status = 'superseded' where id = ?";
  await world.store.tamper(supersede, root.id);
  await world.store.tamper("update cas set lineage = ? where id = ?", root.id, successor.id);
  for (const status of ["superseded", "retired"] as const) {
    root = { ...root, status };
    expect((await issue()).caId).toBe(successor.id);
  }
  root = { ...root, status: "pending" };
  expect(await codeOf(issue())).toBe("ca_not_active");
  await world.store.tamper("update cas set status = 'retired' where id = ?", successor.id);
  for (const status of ["superseded", "retired"] as const) {
    root = { ...root, status };
    expect(await codeOf(issue())).toBe("ca_not_active");
  }
});

test("a provider that holds another key under the name is a fault, not a signer", async () => {
  const other = await world.keys.generate({
    provider: "software",
    label: "other",
    keyType: "ecdsa-p256",
    role: "ca",
  });
  world.keys.find = async () => other;
  expect(await codeOf(issue())).toBe("key_unavailable");
});
