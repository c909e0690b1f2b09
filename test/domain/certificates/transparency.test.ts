/**
 * Issuing with certificate transparency: SCTs of real logs, every way they can fail, and what a
 * crash leaves behind.
 */

import { expect, test } from "bun:test";

import { encodePem } from "#core/asn1/pem.ts";
import { sha256Hex } from "#core/crypto.ts";
import { Problem, refuse } from "#core/problems.ts";
import { addSeconds } from "#core/time.ts";
import { logKeyOf } from "#core/transparency/log-keys.ts";
import { parseSctList, sctVerified } from "#core/transparency/sct.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { caId, parseSerial } from "#core/ids.ts";
import { withoutPoison } from "#core/x509/precertificate.ts";
import { fillEntryEnds } from "#domain/revocation/entry-end.ts";
import { reconcileIntents } from "#domain/certificates/reconcile.ts";
import { type CtWorld, ctWorld } from "#test/support/worlds/ct-world.ts";
import { csr, initRoot, leafRequest, rootOrigin } from "#test/support/worlds/issuance.ts";
import { opensslText, scratchDirectory } from "#test/support/encodings/openssl.ts";

const refusalOf = async (issued: Promise<unknown>): Promise<Problem> => {
  const error = await issued.then(
    () => "accepted",
    (reason: unknown) => reason,
  );
  if (error instanceof Problem) return error;
  throw new Error(String(error));
};

const sctListOid = "1.3.6.1.4.1.11129.2.4.2";
const publicLint = {
  disabled: true,
  mode: "enforce",
  public: true,
  requireMustStaple: false,
  overrides: {},
} as const;

test("a certificate carries verified SCTs where its precertificate had the poison, and openssl reads them", async () => {
  await using world = await ctWorld({ "a-1": {}, "b-1": { keyType: "rsa" } }, { minScts: 2 });
  const { certificate, record, serial } = await world.issue();
  const { caId } = record;
  const leaf = parseCertificate(certificate);
  const kept = await world.store.read.transparency.precertificate(caId, serial);
  const precertificate = parseCertificate(kept?.certificate ?? new Uint8Array());
  const list = leaf.extensions.at(-1);
  expect(list?.oid).toBe(sctListOid);
  const ca = parseCertificate(world.root.certificate ?? new Uint8Array());
  const issuerKeyHash = Uint8Array.fromHex(sha256Hex(ca.spki));
  const entry = { issuerKeyHash, tbs: withoutPoison(precertificate.tbs) };
  const scts = parseSctList(list?.value ?? new Uint8Array());
  for (const name of ["a-1", "b-1"]) {
    const key = logKeyOf(world.log(name).spki);
    expect(scts.filter((sct) => sctVerified(sct, entry, key))).toHaveLength(1);
  }
  using scratch = scratchDirectory();
  const files = [certificate, ca.der].map((der, at) =>
    scratch.write(`${at}.pem`, encodePem("CERTIFICATE", der)),
  );
  const text = opensslText(["x509", "-text", "-noout", "-in", files[0] ?? ""]);
  expect(text).toContain("CT Precertificate SCTs");
  expect(text.match(/Signed Certificate Timestamp:/g)).toHaveLength(2);
  const verified = opensslText(["verify", "-CAfile", files[1] ?? "", files[0] ?? ""]);
  expect(verified).toContain("OK");
  expect(record.ct).toMatchObject({ status: "submitted", sctCount: 2, operators: ["a", "b"] });
  expect(world.events().at(-1)?.detail).toContain("ct=submitted");
  expect(kept?.unsettled).toBe(false);
});

test("precertificate and certificate are two entries of the ledger over different octets, and one intent", async () => {
  await using world = await ctWorld({ "a-1": {} });
  const before = world.keys.signed.length;
  const open: unknown[] = [];
  world.keys.checkTicket = () => {
    open.push(...world.store.listRows("openIntents").filter((row) => row.serial !== ""));
  };
  const { certificate, serial } = await world.issue();
  expect(world.keys.signed.slice(before).map(({ purpose }) => purpose)).toEqual([
    "precertificate",
    "certificate",
  ]);
  const entries = world.ledger().slice(-4);
  expect(entries.map(({ kind, purpose, result }) => [kind, purpose, result])).toEqual([
    ["intent", "precertificate", ""],
    ["outcome", "precertificate", "success"],
    ["intent", "certificate", ""],
    ["outcome", "certificate", "success"],
  ]);
  expect(new Set(entries.map(({ opId }) => opId)).size).toBe(2);
  expect(entries.at(-1)?.digest).toBe(sha256Hex(parseCertificate(certificate).tbs));
  expect(open).toMatchObject(Array(2).fill({ serial, purpose: "precertificate" }));
  const [reserved] = world.serials().filter((one) => one.serial === serial);
  expect(reserved).toMatchObject({ state: "issued" });
  expect((await world.store.read.certificates.orphans(world.root.id, 10)).total).toBe(0);
});

test("no log is asked before the precertificate is kept, and nothing is locked while it thinks", async () => {
  let world: CtWorld | undefined;
  let seen: unknown;
  const thinking = async () => {
    const [kept] = world?.store.listRows("precertificates") ?? [];
    // A unit of somebody else commits while the log has not answered.
    await world?.store.atomically((tx) => tx.instance.setValue("meanwhile", "written"));
    seen = { kept: kept !== undefined, intent: world?.serials().at(-1)?.state };
    return undefined;
  };
  world = await ctWorld({ "a-1": { instead: thinking } });
  await using held = world;
  await held.issue();
  expect(seen).toEqual({ kept: true, intent: "intended" });
});

const refusals: Readonly<Record<string, readonly [object, string]>> = {
  "signs with another key": [{ impostor: true }, "bad_signature"],
  "answers in the name of another log": [
    { bend: (sct: object) => ({ ...sct, logId: new Uint8Array(32) }) },
    "wrong_log",
  ],
  "answers with a time that was not signed": [
    { bend: (sct: { timestamp: number }) => ({ ...sct, timestamp: sct.timestamp - 1 }) },
    "bad_signature",
  ],
  "is out of order": [{ instead: () => new Response("", { status: 503 }) }, "unavailable"],
  "rejects the chain": [{ instead: () => new Response("", { status: 400 }) }, "rejected"],
  "redirects elsewhere": [
    { instead: () => Response.redirect("http://127.0.0.1:1/") },
    "unavailable",
  ],
  "answers with something else": [{ instead: () => new Response("hello") }, "malformed"],
  "answers without end": [{ instead: () => new Response("x".repeat(70_000)) }, "malformed"],
  "never answers": [{ instead: () => Bun.sleep(60_000).then(() => undefined) }, "timeout"],
};

for (const [what, [log, error]] of Object.entries(refusals)) {
  test(`when the only log ${what} only the precertificate is signed, and the refusal says why`, async () => {
    // A short timeout would fail the other logs on a busy machine.
    const timeoutSeconds = error === "timeout" ? 0.3 : 60;
    await using world = await ctWorld({ "a-1": log }, { timeoutSeconds });
    const before = world.keys.signed.length;
    const refusal = await refusalOf(world.issue());
    expect(refusal.code).toBe("ct_policy_unmet");
    expect(refusal.facts).toEqual({
      required: 1,
      received: 0,
      logs: [{ log: "a-1", operator: "a", ok: false, error }],
    });
    expect(world.keys.signed.slice(before).map(({ purpose }) => purpose)).toEqual([
      "precertificate",
    ]);
    expect(world.serials().at(-1)?.state).toBe("abandoned");
    expect(world.events().at(-1)).toMatchObject({ action: "cert.issue", result: "denied" });
    expect(world.events().at(-1)?.detail).toContain("reasons=ct_policy_unmet");
    expect(world.store.listRows("certificates").map(({ kind }) => kind)).toEqual(["ca"]);
    expect(world.store.countRows("precertificates")).toBe(1);
    expect(world.store.countRows("revocations")).toBe(0);
  });
}

test("an SCT up to five minutes ahead counts, one further ahead does not", async () => {
  let ahead = 300;
  const world = await ctWorld({ "a-1": {} });
  await using held = world;
  held.log("a-1").clock = () => addSeconds(held.clock.now(), ahead);
  await held.issue();
  ahead = 301;
  expect((await refusalOf(held.issue())).facts.logs).toMatchObject([{ error: "future_timestamp" }]);
});

test("a log that is out of order is asked again, one that rejects is not", async () => {
  const twice = (attempt: number) => (attempt <= 2 ? new Response("", { status: 500 }) : undefined);
  const never = () => new Response("", { status: 422 });
  await using world = await ctWorld(
    { "a-1": { instead: twice }, "b-1": { instead: never } },
    { retries: 2, minScts: 1 },
  );
  const { record } = await world.issue();
  expect(record.ct?.logs).toContainEqual({ log: "a-1", operator: "a", ok: true });
  expect(world.log("a-1").submissions).toBe(3);
  expect(world.log("b-1").submissions).toBe(1);
});

test("nobody waits for a late log once the policy is met", async () => {
  await using world = await ctWorld({
    "a-1": {},
    "b-1": { instead: () => Bun.sleep(60_000).then(() => undefined) },
  });
  const { record } = await world.issue();
  expect(record.ct?.logs).toEqual([
    { log: "a-1", operator: "a", ok: true },
    { log: "b-1", operator: "b", ok: false, error: "late" },
  ]);
});

test("two logs of one operator are not two operators, and a required operator must be among them", async () => {
  const logs = { "a-1": {}, "a-2": {} };
  await using distinct = await ctWorld(logs, { minScts: 2, minDistinctOperators: 2 });
  expect((await refusalOf(distinct.issue())).facts).toMatchObject({ required: 2, received: 2 });
  await using required = await ctWorld(logs, { requireOperators: ["c"] });
  expect((await refusalOf(required.issue())).code).toBe("ct_policy_unmet");
  await using chrome = await ctWorld({ ...logs, "b-1": {} }, { policy: "chrome" });
  // 397 days need three.
  expect((await chrome.issue()).record.ct?.sctCount).toBe(3);
});

test("only the logs the profile names are asked", async () => {
  await using world = await ctWorld({ "a-1": {}, "b-1": {} }, { logs: ["b-1"] });
  await world.issue();
  expect([world.log("a-1").submissions, world.log("b-1").submissions]).toEqual([0, 1]);
});

test("fail-open signs with the SCTs there are, and answer, record and event say so", async () => {
  const down = { instead: () => new Response("", { status: 503 }) };
  await using some = await ctWorld({ "a-1": {}, "b-1": down }, { minScts: 2, failOpen: true });
  const one = await some.issue();
  expect(one.record.ct).toMatchObject({ status: "failed_open", sctCount: 1, operators: ["a"] });
  expect(some.events().at(-1)?.detail).toContain("ct=failed_open");
  expect(some.inclusions()).toHaveLength(1);
  await using none = await ctWorld({ "b-1": down }, { failOpen: true });
  const bare = await none.issue();
  const oids = parseCertificate(bare.certificate).extensions.map(({ oid }) => oid);
  expect(oids).not.toContain(sctListOid);
  expect(oids).not.toContain("1.3.6.1.4.1.11129.2.4.3");
  expect(bare.record.ct).toMatchObject({ status: "failed_open", sctCount: 0 });
});

test("a public serial of which no certificate came is revoked by the system, once", async () => {
  const down = { instead: () => new Response("", { status: 503 }) };
  await using world = await ctWorld({ "a-1": down }, {}, { lint: publicLint });
  await refusalOf(world.issue());
  const revoked = world.store.listRows("revocations");
  // CRL-7: it leaves the lists when the certificate it never became would have ended.
  const [precertificate] = world.store.listRows("precertificates");
  const { notAfter } = parseCertificate(precertificate?.certificate ?? new Uint8Array());
  expect(revoked).toMatchObject([{ reason: "unspecified", known: false, expiresAt: notAfter }]);
  expect(world.events().at(-1)).toMatchObject({ action: "cert.revoke", actor: "system:ct" });
  const count = world.events().length;
  await world.transparency.lost();
  expect(world.events()).toHaveLength(count);
});

test("CRL-7: a lost precertificate that an older release revoked gets its end at the next start, and nothing else does", async () => {
  const down = { instead: () => new Response("", { status: 503 }) };
  await using world = await ctWorld({ "a-1": down }, {}, { lint: publicLint });
  await refusalOf(world.issue());
  const { store } = world;
  const [row] = store.listRows("revocations");
  if (row === undefined) throw new Error("it was revoked");
  const ended = await store.read.revocations.bySerial(caId(row.caId), parseSerial(row.serial));
  if (ended === undefined) throw new Error("it was revoked");
  const bare = { ...ended, serial: parseSerial("77"), expiresAt: undefined };
  await store.atomically((tx) => tx.revocations.put(bare));
  await store.atomically((tx) => tx.revocations.put({ ...ended, expiresAt: undefined }));
  const left = await store.read.revocations.bySerial(ended.caId, ended.serial);
  expect(await fillEntryEnds(store)).toBe(1);
  const filled = await store.read.revocations.bySerial(ended.caId, ended.serial);
  expect(filled).toEqual(left && { ...left, expiresAt: ended.expiresAt });
  const stays = await store.read.revocations.bySerial(ended.caId, bare.serial);
  expect(stays?.expiresAt).toBeUndefined();
  // It is looked for once, not at every start.
  await store.atomically((tx) => tx.revocations.put({ ...ended, expiresAt: undefined }));
  expect(await fillEntryEnds(store)).toBe(0);
});

/** As a database that is gone in the middle of a commit: nobody knows what it has kept. */
const thePowerWent = () => refuse("storage_unavailable", { retry_after: 2 });

test("a crash while logs think leaves an orphan, whose serial is revoked after the start when it is public", async () => {
  for (const lint of [publicLint, { ...publicLint, public: false }]) {
    await using world = await ctWorld({ "a-1": {} }, {}, { lint });
    let writes = 0;
    world.store.checkWrite = (operation) => {
      if (operation === "transparency.keep") writes = 1;
      else if (writes > 0 && operation === "audit.appendLedger") throw thePowerWent();
    };
    await world.issue().catch(() => {});
    world.store.checkWrite = () => {};
    expect(world.keys.signed.at(-1)?.purpose).toBe("precertificate");
    const orphans = await reconcileIntents(world.store, world.clock);
    expect(orphans).toMatchObject([{ purpose: "precertificate", state: "orphaned" }]);
    await world.transparency.lost();
    expect(world.store.countRows("revocations")).toBe(lint.public ? 1 : 0);
    expect((await world.store.read.certificates.orphans(world.root.id, 10)).total).toBe(1);
    expect(world.store.countRows("precertificates")).toBe(1);
  }
});

test("a crash after the final signature leaves an open entry, closed as unknown, and no certificate", async () => {
  await using world = await ctWorld({ "a-1": {} }, {}, { lint: publicLint });
  world.store.checkWrite = (operation) => {
    if (operation === "certificates.activate" && world.keys.signed.length > 2) {
      throw thePowerWent();
    }
  };
  await world.issue().catch(() => {});
  world.store.checkWrite = () => {};
  await reconcileIntents(world.store, world.clock);
  expect(world.ledger().at(-1)).toMatchObject({ purpose: "certificate", result: "unknown" });
  await world.transparency.lost();
  expect(world.store.countRows("revocations")).toBe(1);
  expect(world.store.listRows("certificates").map(({ kind }) => kind)).toEqual(["ca"]);
});

test("a key that fails at the final signature abandons the intent, and the public serial is revoked", async () => {
  await using world = await ctWorld({ "a-1": {} }, {}, { lint: publicLint });
  world.keys.checkTicket = ({ purpose }) => {
    if (purpose === "certificate") throw new Problem("key_unavailable", {});
  };
  expect((await refusalOf(world.issue())).code).toBe("key_unavailable");
  expect(world.serials().at(-1)?.state).toBe("abandoned");
  expect(world.store.countRows("revocations")).toBe(1);
});

test("a revocation that was written before the crash is not an error after it", async () => {
  const down = { instead: () => new Response("", { status: 503 }) };
  await using world = await ctWorld({ "a-1": down }, {}, { lint: publicLint });
  world.store.checkWrite = (operation) => {
    if (operation === "transparency.settlePrecertificate") throw thePowerWent();
  };
  expect((await refusalOf(world.issue())).code).toBe("ct_policy_unmet");
  world.store.checkWrite = () => {};
  expect(world.store.countRows("revocations")).toBe(1);
  expect(await world.store.read.transparency.lost(10)).toHaveLength(1);
  await world.transparency.lost();
  expect(await world.store.read.transparency.lost(10)).toEqual([]);
  expect(world.store.countRows("revocations")).toBe(1);
});

test("a profile without transparency asks no log and keeps no precertificate", async () => {
  await using world = await ctWorld({ "a-1": {} }, { enabled: false });
  const { record } = await world.issue();
  expect(record.ct).toBeUndefined();
  expect(world.log("a-1").submissions).toBe(0);
  expect(world.store.countRows("precertificates")).toBe(0);
});

test("a CA that was superseded while logs thought signs no certificate, only the precertificate is left", async () => {
  let supersede = async () => {};
  const meanwhile = async () => {
    await supersede();
    return undefined;
  };
  await using world = await ctWorld({ "a-1": { instead: meanwhile } }, {}, { lint: publicLint });
  supersede = async () => {
    await world.store.tamper("update cas set status = 'superseded' where id = ?", world.root.id);
  };
  expect((await refusalOf(world.issue())).code).toBe("ca_not_active");
  expect(world.keys.signed.at(-1)?.purpose).toBe("precertificate");
  expect(world.serials().at(-1)?.state).toBe("abandoned");
  expect(world.store.countRows("revocations")).toBe(1);
});

test("CT-6: under a hybrid CA a profile with transparency is refused before any log or key is asked", async () => {
  await using world = await ctWorld({ "a-1": {} });
  const hybrid = await initRoot(world, { label: "hybrid", alternativeKeyType: "ml-dsa-44" });
  const request = leafRequest({ profile: "ct", csr: csr() });
  const refusal = await refusalOf(world.issuance.issue(rootOrigin, hybrid, request));
  expect(refusal.code).toBe("gate_refused");
  expect(JSON.stringify(refusal.facts)).toContain("a hybrid issuer cannot use transparency logs");
  expect(world.log("a-1").submissions).toBe(0);
});
