/**
 * OCSP answers: the order of their rules, the cache nobody may notice, and openssl as the relying
 * party.
 */

import { afterAll, beforeEach, expect, spyOn, test } from "bun:test";

import { encodePem } from "#core/asn1/pem.ts";
import { caId, parseSerial, type Serial } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { addSeconds } from "#core/time.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest, parseOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { sequence } from "#core/asn1/der.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";
import { openssl } from "#test/support/instances/relying-party.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

const bench = scratchDirectory();
afterAll(() => bench[Symbol.dispose]());

let small: SmallCa;
beforeEach(async () => {
  small = await smallCa();
});

interface Question {
  readonly ca?: CaRecord;
  readonly hash?: "sha1" | "sha256";
  readonly nonce?: Uint8Array;
}

function questionOf(serial: Serial, { ca = small.ca, hash = "sha1", nonce }: Question = {}) {
  const certificate = parseCertificate(ca.certificate ?? new Uint8Array(0));
  const issuer = { issuerName: certificate.subject.der, issuerSpki: certificate.spki };
  return encodeOcspRequest({ ...issuer, serial, hash, nonce });
}

const ask = async (serial: Serial, question?: Question) =>
  await small.ocsp.answer(small.ca.id, questionOf(serial, question));

async function statusOf(serial: Serial, question?: Question) {
  const answer = await ask(serial, question);
  return parseOcspResponse(answer.der).basic?.answers[0]?.status;
}

const askedAbout = (serial: Serial) => ({
  ca: small.ca,
  serial,
  origin: rootOrigin,
  mayManageCa: true,
});
const revoke = (serial: Serial, reason: RevocationReason = "superseded") =>
  small.revoker.revoke(askedAbout(serial), reason);
const responses = () => small.keys.signed.filter(({ purpose }) => purpose === "ocsp").length;
const someSerial = parseSerial("123456789");

test("good, revoked, held and unknown are told apart", async () => {
  const [good, revoked, held] = [await small.issue(), await small.issue(), await small.issue()];
  await revoke(revoked.serial, "keyCompromise");
  await small.revoker.suspend(askedAbout(held.serial));
  const at = small.clock.at;
  expect(await statusOf(good.serial)).toEqual({ status: "good" });
  expect(await statusOf(revoked.serial)).toEqual({
    status: "revoked",
    at,
    reason: "keyCompromise",
  });
  expect(await statusOf(held.serial)).toEqual({ status: "revoked", at, reason: "certificateHold" });
  expect(await statusOf(someSerial)).toEqual({ status: "unknown" });
});

test("a CA that was deleted is unknown from then on", async () => {
  const { serial } = await small.issue();
  const answered = async () => (await ask(serial)).status;
  expect(await answered()).toBe("successful");
  await small.store.atomically(async (tx) => {
    await tx.cas.remove(small.ca.id, undefined);
    const about = { caId: small.ca.id, target: small.ca.id, actor: "root" };
    await tx.audit.appendEvent(
      { action: "ca.delete", result: "success", ...about },
      small.clock.at,
    );
  });
  expect(await answered()).toBe("unauthorized");
});

test("revoked goes before good, also for bare entries and expired certificates", async () => {
  const { serial } = await small.issue({ validitySeconds: 10 });
  small.clock.advance(60);
  expect(await statusOf(serial)).toEqual({ status: "good" });
  await revoke(serial);
  await revoke(someSerial);
  expect((await statusOf(serial))?.status).toBe("revoked");
  expect((await statusOf(someSerial))?.status).toBe("revoked");
});

test("an intended certificate is unknown, and good from the moment it is issued", async () => {
  const intent = { opId: "op", caId: small.ca.id, serial: someSerial, requestedBy: "root" };
  const rest = { purpose: "certificate", tbsDigest: "", createdAt: small.clock.at } as const;
  await small.store.atomically((tx) =>
    tx.certificates.intend({ ...intent, ...rest, state: "intended" }),
  );
  expect(await statusOf(someSerial)).toEqual({ status: "unknown" });
  const other = await small.issue();
  expect(await statusOf(other.serial)).toEqual({ status: "good" });
});

test("what is not a request is malformed, before the CA is looked at", async () => {
  const nothing = await small.ocsp.answer(caId("none"), new Uint8Array(0));
  expect(nothing.status).toBe("malformedRequest");
  const unknown = await small.ocsp.answer(caId("none"), questionOf(someSerial));
  expect([unknown.status, [...unknown.der]]).toEqual(["unauthorized", [0x30, 3, 10, 1, 6]]);
});

test("a certID naming another issuer is answered unknown", async () => {
  const { serial } = await small.issue();
  const other = await small.addCa();
  expect(await statusOf(serial, { ca: other })).toEqual({ status: "unknown" });
});

test("the first entry that names a key of the lineage decides who signs", async () => {
  const successor = await small.addCa({ lineage: small.ca });
  const [old, young] = [await small.issue(), await small.issue({ ca: successor })];
  const joined = await small.ocsp.answer(
    small.ca.id,
    joinRequests(questionOf(young.serial, { ca: successor }), questionOf(old.serial)),
  );
  const basic = parseOcspResponse(joined.der).basic;
  expect(basic?.answers.map(({ status }) => status.status)).toEqual(["good", "unknown"]);
  const responder = parseCertificate(basic?.certificates[0] ?? new Uint8Array(0));
  const { serial } = responder;
  expect(small.store.listRows("responders")).toContainEqual(
    expect.objectContaining({ caId: successor.id, serial }),
  );
});

test("a lineage member added after the first answer is found", async () => {
  await ask(someSerial);
  const successor = await small.addCa({ lineage: small.ca });
  const { serial } = await small.issue({ ca: successor });
  expect(await statusOf(serial, { ca: successor })).toEqual({ status: "good" });
});

test("several entries are answered in order with the certIDs as asked", async () => {
  const [one, two] = [await small.issue(), await small.issue()];
  const request = joinRequests(questionOf(one.serial), questionOf(two.serial, { hash: "sha256" }));
  const { der } = await small.ocsp.answer(small.ca.id, request);
  const given = parseOcspResponse(der).basic?.answers.map(({ certId }) => certId);
  expect(given).toEqual(parseOcspRequest(request)?.certIds.map((certId) => certId.der));
});

test("an answer is signed once and kept, but never for another hash", async () => {
  const { serial } = await small.issue();
  const first = await ask(serial);
  expect(await ask(serial)).toBe(first);
  expect(responses()).toBe(1);
  await ask(serial, { hash: "sha256" });
  expect(responses()).toBe(2);
});

test("the first answer after the acknowledgement says revoked, from a warm cache too", async () => {
  const { serial } = await small.issue();
  const other = await small.issue();
  const kept = await ask(other.serial);
  expect(await statusOf(serial)).toEqual({ status: "good" });
  await revoke(serial);
  expect((await statusOf(serial))?.status).toBe("revoked");
  expect(await ask(other.serial)).toBe(kept);
  expect(await small.ocsp.stillTrue(kept)).toBe(true);
});

test("a release shows at once", async () => {
  const { serial } = await small.issue();
  await small.revoker.suspend(askedAbout(serial));
  expect((await statusOf(serial))?.status).toBe("revoked");
  await small.revoker.release(askedAbout(serial));
  expect((await statusOf(serial))?.status).toBe("good");
});

test("a revocation while an answer is being signed is not hidden by keeping it", async () => {
  const { serial } = await small.issue();
  small.keys.checkTicket = async (ticket) => {
    if (ticket.purpose !== "ocsp") return;
    small.keys.checkTicket = () => {};
    await revoke(serial);
  };
  await ask(serial);
  expect((await statusOf(serial))?.status).toBe("revoked");
});

test("unknown is never kept", async () => {
  const answer = await ask(someSerial);
  expect([answer.validity, await small.ocsp.stillTrue(answer)]).toEqual([undefined, false]);
  await ask(someSerial);
  expect(responses()).toBe(2);
});

test("RFC 9654: the nonce is echoed, signed fresh, short-lived and not kept", async () => {
  const { serial } = await small.issue();
  const nonce = new Uint8Array(32).fill(7);
  const answer = await ask(serial, { nonce });
  const basic = parseOcspResponse(answer.der).basic;
  expect(basic?.nonce).toEqual(nonce);
  expect(basic?.answers[0]?.nextUpdate).toBe(addSeconds(small.clock.at, 60));
  expect(answer.validity).toBeUndefined();
  await ask(serial, { nonce });
  expect(responses()).toBe(2);
});

test("a question asked before with other nonces learns of every change at once", async () => {
  const { serial } = await small.issue();
  let asked = 0;
  const answered = async () => {
    const nonce = new Uint8Array(16).fill(++asked);
    const { basic } = parseOcspResponse((await ask(serial, { nonce })).der);
    expect(basic?.nonce).toEqual(nonce);
    return basic?.answers[0]?.status.status;
  };
  expect([await answered(), await answered()]).toEqual(["good", "good"]);
  await small.revoker.suspend(askedAbout(serial));
  expect([await answered(), await answered()]).toEqual(["revoked", "revoked"]);
  await small.revoker.release(askedAbout(serial));
  expect([await answered(), await answered()]).toEqual(["good", "good"]);
  await revoke(serial);
  expect(await answered()).toBe("revoked");
});

test("what is known of a question does not lie in the message it came in", async () => {
  const { serial } = await small.issue();
  const nonce = new Uint8Array(16);
  const first = questionOf(serial, { nonce });
  const echoed = parseOcspRequest(first.slice())?.certIds[0]?.der;
  await small.ocsp.answer(small.ca.id, first);
  first.fill(0);
  const { basic } = parseOcspResponse((await ask(serial, { nonce })).der);
  expect(basic?.answers[0]?.certId).toEqual(echoed);
});

test("BR 4.9.10: an answer about a public certificate lives long, with a nonce too", async () => {
  const { serial } = await small.issue({ profile: "public" });
  const answer = await ask(serial, { nonce: new Uint8Array(16) });
  const nextUpdate = parseOcspResponse(answer.der).basic?.answers[0]?.nextUpdate;
  expect(nextUpdate).toBe(addSeconds(small.clock.at, 24 * 3600));
});

test("a nonce is ignored when it is switched off", async () => {
  small = await smallCa({ ocsp: { nonce_enabled: false } });
  const { serial } = await small.issue();
  const answer = await ask(serial, { nonce: new Uint8Array(8) });
  expect(parseOcspResponse(answer.der).basic?.nonce).toBeUndefined();
  expect(answer.validity).toBeDefined();
});

test("times are backdated and end before the responder does", async () => {
  small = await smallCa({ ocsp: { delegated_validity_hours: 24 } });
  const { serial } = await small.issue();
  const { validity } = await ask(serial);
  expect(validity?.thisUpdate).toBe(addSeconds(small.clock.at, -300));
  expect(validity?.nextUpdate).toBe(addSeconds(small.clock.at, 24 * 3600 - 301));
});

test("an answer is kept for its time and no longer, or not at all", async () => {
  const { serial } = await small.issue();
  const kept = await ask(serial);
  small.clock.advance(3599);
  expect(await ask(serial)).toBe(kept);
  small.clock.advance(1);
  expect(await ask(serial)).not.toBe(kept);
  small = await smallCa({ server: { ocsp_cache_ttl_seconds: -1 } });
  const uncached = await small.issue();
  expect(await small.ocsp.stillTrue(await ask(uncached.serial))).toBe(false);
});

test("a response has no basis while the cache is off, so that nothing is kept for its serial", async () => {
  small = await smallCa({ server: { ocsp_cache_ttl_seconds: -1 } });
  const { serial } = await small.issue();
  const reads = spyOn(small.store.read.revocations, "certStatus");
  const both = [await ask(serial), await ask(serial)];
  expect(both.map(({ basis }) => basis)).toEqual([undefined, undefined]);
  expect(both.map(({ validity }) => validity !== undefined)).toEqual([true, true]);
  expect(reads).toHaveBeenCalledTimes(2);
});

test("the cache is bounded", async () => {
  small = await smallCa({ server: { ocsp_cache_entries: 2 } });
  const rows = [await small.issue(), await small.issue(), await small.issue()];
  for (const { serial } of [...rows, ...rows]) await ask(serial);
  expect(responses()).toBe(6);
});

test("a key store that is away is tryLater, a shed request says when, a fault internalError", async () => {
  const { serial } = await small.issue();
  small.keys.checkTicket = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  expect((await ask(serial)).status).toBe("tryLater");
  small.clock.advance(60);
  small.keys.checkTicket = ({ purpose }) => {
    if (purpose === "ocsp") throw refuse("overloaded", { retry_after: 2 });
  };
  expect(await ask(serial)).toMatchObject({ status: "tryLater", retryAfter: 2 });
  small.keys.checkTicket = ({ purpose }) => {
    if (purpose === "ocsp") throw new Error("a bug");
  };
  expect((await ask(serial)).status).toBe("internalError");
  // The first is that no responder could be made.
  expect(small.failures).toHaveLength(2);
});

test("a database that is away is tryLater with a time to come again, and no word of ours in the log", async () => {
  const { serial } = await small.issue();
  await ask(serial);
  small.keys.checkTicket = ({ purpose }) => {
    if (purpose === "ocsp") throw refuse("storage_unavailable", { retry_after: 2 });
  };
  const other = await small.issue();
  expect(await ask(other.serial)).toMatchObject({ status: "tryLater", retryAfter: 2 });
  expect(small.failures).toEqual([]);
});

test("where nobody else can have revoked, what is in memory goes on without the database for its time and no longer", async () => {
  const { serial } = await small.issue();
  const other = await small.issue();
  const kept = await ask(serial);
  const away = () => Promise.reject(refuse("storage_unavailable", { retry_after: 2 }));
  const { revocations } = small.store.read;
  spyOn(revocations, "certStatus").mockImplementation(away);
  expect(await ask(serial)).toBe(kept);
  expect(await ask(other.serial)).toMatchObject({ status: "tryLater" });
  small.clock.advance(3600);
  expect(await ask(serial)).toMatchObject({ status: "tryLater" });
});

test("where others revoke, what is in memory is not given while the database is away", async () => {
  const { serial } = await small.issue();
  await ask(serial);
  const away = () => Promise.reject(refuse("storage_unavailable", { retry_after: 2 }));
  spyOn(small.store.read.revocations, "stamp").mockImplementation(away);
  expect(await ask(serial)).toMatchObject({ status: "tryLater", retryAfter: 2 });
});

for (const keyType of ["ecdsa-p256", "rsa-2048", "ed25519"] as const satisfies KeyType[]) {
  test(`openssl accepts the answers of a CA with ${keyType}`, async () => {
    small = await smallCa({ keyType });
    const { serial } = await small.issue();
    await revoke(someSerial);
    expect(await opensslVerdict(serial, "-sha1")).toContain("good");
    expect(await opensslVerdict(someSerial, "-sha256")).toContain("revoked");
    expect(await opensslVerdict(someSerial, "-sha512")).toContain("superseded");
  });
}

test("openssl accepts answers signed by the CA itself, which the ledger lists", async () => {
  small = await smallCa({ ocsp: { delegated: false } });
  const { serial } = await small.issue();
  expect(await opensslVerdict(serial, "-sha384")).toContain("good");
  expect(small.store.listLedger()).toMatchObject([
    { kind: "intent", purpose: "ocsp", artifact: serial, role: "ca" },
    { kind: "outcome", purpose: "ocsp", result: "success" },
  ]);
});

test("an answer of the CA itself that cannot be closed is not given, and is left to the next start", async () => {
  small = await smallCa({ ocsp: { delegated: false } });
  const { serial } = await small.issue();
  let entries = 0;
  small.store.checkWrite = (write) => {
    // As a commit whose answer is lost: it may have happened.
    if (write !== "audit.appendLedger" || ++entries === 1) return;
    throw refuse("storage_unavailable", { retry_after: 2 });
  };
  expect(await ask(serial)).toMatchObject({ status: "tryLater" });
  expect(small.store.listLedger().map(({ kind }) => kind)).toEqual(["intent"]);
  expect(entries).toBe(2);
});

/** Lets openssl make the question and judge the answer, nonce included. */
async function opensslVerdict(serial: Serial, hash: string): Promise<string> {
  const ca = bench.write(
    "ca.pem",
    encodePem("CERTIFICATE", small.ca.certificate ?? new Uint8Array(0)),
  );
  const request = bench.write("request.der", "");
  const question = ["ocsp", hash, "-issuer", ca, "-serial", serial];
  await openssl([...question, "-reqout", request]);
  const { der } = await small.ocsp.answer(small.ca.id, await Bun.file(request).bytes());
  const response = bench.write("response.der", der);
  const at = String(small.clock.at / 1000);
  const judge = ["-reqin", request, "-respin", response, "-CAfile", ca];
  const others = ["-verify_other", ca, "-attime", at];
  const { text } = await openssl(["ocsp", ...judge, ...others], {
    mustPass: false,
  });
  expect(text).toContain("Response verify OK");
  expect(text).not.toContain("nonce");
  const shown = await openssl(["ocsp", "-respin", response, "-noverify", "-resp_text"], {
    mustPass: false,
  });
  return shown.text;
}

/** One request with the entries of two. */
function joinRequests(one: Uint8Array, two: Uint8Array): Uint8Array {
  const entries = [one, two].flatMap((der) => parseOcspRequest(der)?.certIds ?? []);
  return sequence(sequence(sequence(...entries.map(({ der }) => sequence(der)))));
}
