/** OCSP answers signed ahead: what a sweep signs, what is served of it, and for how long. */

import { beforeEach, expect, test } from "bun:test";

import { parseSerial, type Serial } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { addSeconds } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { systemOrigin } from "#domain/revocation/system-origin.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

let small: SmallCa;

beforeEach(async () => {
  small = await smallCa({ presign: { enabled: true } });
});

interface Question {
  readonly hash?: "sha1" | "sha256";
  readonly nonce?: Uint8Array;
}

const ask = (serial: Serial, { hash = "sha1", nonce }: Question = {}) => {
  const { subject, spki } = parseCertificate(small.ca.certificate ?? new Uint8Array(0));
  const names = { issuerName: subject.der, issuerSpki: spki };
  return small.ocsp.answer(small.ca.id, encodeOcspRequest({ ...names, serial, hash, nonce }));
};
const wordOf = async (serial: Serial, question?: Question) => {
  const { status, basic } = parseOcspResponse((await ask(serial, question)).der);
  return basic?.answers[0]?.status.status ?? status;
};
const asked = (serial: Serial) => ({
  ca: small.ca,
  serial,
  origin: rootOrigin,
  mayManageCa: true,
});
const signatures = () => small.keys.signed.filter(({ purpose }) => purpose === "ocsp").length;
const keysAway = () => {
  small.keys.checkTicket = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
};
const sweep = () => small.presigner.sweep();

test("a sweep signs both hashes for every certificate, and serves them without another signature", async () => {
  const { serial } = await small.issue();
  const report = await sweep();
  // The responder it made on the way is a certificate of the CA too, if the walk had not passed its
  // place.
  expect(report.responses).toBeGreaterThanOrEqual(2);
  expect(report).toMatchObject({ shed: 0, failure: undefined, signed: report.responses });
  const before = signatures();
  for (const hash of ["sha1", "sha256"] as const)
    expect(await wordOf(serial, { hash })).toBe("good");
  expect(signatures()).toBe(before);
});

test("while the key provider is away answers are given to their nextUpdate and no longer", async () => {
  const { serial } = await small.issue();
  await sweep();
  const later = await small.issue();
  keysAway();
  const answer = await ask(serial);
  expect(answer.validity?.nextUpdate).toBe(addSeconds(small.clock.at, 86_400));
  expect([await wordOf(serial), await wordOf(later.serial)]).toEqual(["good", "tryLater"]);
  small.clock.advance(86_399);
  expect(await wordOf(serial)).toBe("good");
  small.clock.advance(1);
  expect(await wordOf(serial)).toBe("tryLater");
});

test("a nonce is never answered by what was signed ahead", async () => {
  const { serial } = await small.issue();
  await sweep();
  keysAway();
  expect(await wordOf(serial, { nonce: new Uint8Array(16) })).toBe("tryLater");
});

test("after a revocation the old answer is gone, and the next look signs the new one", async () => {
  const { serial } = await small.issue();
  await sweep();
  expect(await wordOf(serial)).toBe("good");
  await small.revoker.revoke(asked(serial), "keyCompromise");
  const { checkTicket } = small.keys;
  keysAway();
  expect(await wordOf(serial)).toBe("tryLater");
  small.keys.checkTicket = checkTicket;
  small.clock.advance(5);
  await small.presigner.refreshChanged();
  keysAway();
  expect(await wordOf(serial)).toBe("revoked");
});

test("suspend and release are followed too", async () => {
  const { serial } = await small.issue();
  await sweep();
  await small.revoker.suspend(asked(serial));
  await small.presigner.refreshChanged();
  expect(await wordOf(serial)).toBe("revoked");
  await small.revoker.release(asked(serial));
  await small.presigner.refreshChanged();
  const before = signatures();
  expect(await wordOf(serial)).toBe("good");
  expect(signatures()).toBe(before);
});

test("a revocation while the answer is being signed ahead leaves no answer that says good", async () => {
  const { serial } = await small.issue();
  let revoked = false;
  small.keys.checkTicket = async ({ purpose }) => {
    if (purpose !== "ocsp" || revoked) return;
    revoked = true;
    await small.revoker.revoke(asked(serial), "superseded");
  };
  await sweep();
  expect(small.store.listRows("presigned").filter((row) => row.serial === serial)).toEqual([]);
  expect(await wordOf(serial)).toBe("revoked");
});

test("bare and expired revoked serials are swept, long expired good ones only when lately asked", async () => {
  const gone = await small.issue({ validitySeconds: 60 });
  const revoked = await small.issue({ validitySeconds: 60 });
  await small.revoker.revoke(asked(revoked.serial), "superseded");
  const bare = "123456789" as Serial; // A serial in canonical form.
  await small.revoker.revoke(asked(bare), "superseded");
  small.clock.advance(61 + 1440 * 60);
  await sweep();
  const rowsOf = (serial: Serial) =>
    small.store.listRows("presigned").filter((row) => row.serial === serial).length;
  expect([rowsOf(gone.serial), rowsOf(revoked.serial), rowsOf(bare)]).toEqual([0, 2, 2]);
  await wordOf(gone.serial);
  await sweep();
  expect(rowsOf(gone.serial)).toBe(2);
});

test("within the grace an expired certificate is swept, and with -1 not a second longer", async () => {
  const graced = async (expired_grace_minutes: number) => {
    small = await smallCa({ presign: { enabled: true, expired_grace_minutes } });
    const { serial } = await small.issue({ validitySeconds: 60 });
    small.clock.advance(61);
    await sweep();
    return small.store.listRows("presigned").some((row) => row.serial === serial);
  };
  expect([await graced(1440), await graced(-1)]).toEqual([true, false]);
});

test("who asks for a sweep while one runs has what was issued meanwhile signed too", async () => {
  await small.issue();
  const running = sweep();
  const { serial } = await small.issue();
  const [first, second, third] = await Promise.all([running, sweep(), sweep()]);
  expect(second).toBe(third);
  expect(second).not.toBe(first);
  keysAway();
  expect(await wordOf(serial)).toBe("good");
});

test("a second sweep signs nothing that is young, and counts it", async () => {
  await small.issue();
  await sweep();
  const { responses } = await sweep();
  expect(await sweep()).toMatchObject({ responses, signed: 0 });
  small.clock.advance(180 * 60);
  expect(await sweep()).toMatchObject({ responses, signed: responses });
});

test("what the guard sheds is counted and left to the next sweep", async () => {
  await small.issue();
  await small.ocsp.answer(small.ca.id, new Uint8Array(0));
  let times = 0;
  small.keys.checkTicket = ({ purpose }) => {
    if (purpose === "ocsp" && times++ < 3) throw refuse("overloaded", { retry_after: 1 });
  };
  // Both answers were shed in their round, and the first of them once more by itself.
  const first = await sweep();
  expect(first).toMatchObject({ shed: 1, failure: undefined });
  const second = await sweep();
  expect(second.responses).toBeGreaterThan(first.responses);
  expect(await sweep()).toMatchObject({ responses: second.responses, shed: 0, signed: 0 });
});

test("a CA whose key is away costs the others nothing, and the run says so at its end", async () => {
  const other = await small.addCa();
  await small.issue({ ca: other });
  const { serial } = await small.issue();
  small.keys.checkTicket = ({ caId }) => {
    if (caId === other.id) throw refuse("key_unavailable", { retry_after: 2 });
  };
  const failed = await small.presigner.run(rootOrigin).catch((error) => error);
  expect(failed.code).toBe("key_unavailable");
  keysAway();
  expect(await wordOf(serial)).toBe("good");
  const [event] = small.store.listEvents().filter(({ action }) => action === "ocsp.presign");
  expect(event).toMatchObject({ result: "error", actor: "root" });
});

test("answers of a revoked responder are not given, and signed anew by its successor", async () => {
  const { serial } = await small.issue();
  await sweep();
  const [responder] = small.store.listRows("responders");
  if (responder === undefined) throw new Error("the sweep made no responder");
  await small.revoker.revoke(asked(parseSerial(responder.serial)), "keyCompromise");
  const signer = async () => {
    const { basic } = parseOcspResponse((await ask(serial)).der);
    return parseCertificate(basic?.certificates[0] ?? new Uint8Array(0)).serial;
  };
  expect(await signer()).not.toBe(responder.serial);
  small.clock.advance(60);
  await sweep();
  keysAway();
  expect(await signer()).not.toBe(responder.serial);
});

test("only a sweep that did something is an event, unless somebody asked for it", async () => {
  await small.issue();
  const events = () => small.store.listEvents().filter(({ action }) => action === "ocsp.presign");
  await small.presigner.run(systemOrigin("presign"));
  await small.presigner.run(systemOrigin("presign"));
  await small.presigner.run(systemOrigin("presign"));
  const byClock = events().length;
  expect(byClock).toBeLessThanOrEqual(2);
  await small.presigner.run(rootOrigin);
  expect(events()).toHaveLength(byClock + 1);
  expect(events().at(-1)?.detail).toMatch(/^responses=\d+ signed=0 shed=0 duration=0$/);
});

test("changes whose answers cannot be signed wait until they can, and are not tried all the time", async () => {
  small = await smallCa({ presign: { enabled: true } });
  const { serial } = await small.issue();
  const request = { ca: small.ca, serial, origin: rootOrigin, mayManageCa: true };
  await small.revoker.revoke(request, "superseded");
  small.keys.checkTicket = () => {
    throw refuse("key_unavailable");
  };
  await expect(small.presigner.refreshChanged()).rejects.toMatchObject({ code: "key_unavailable" });
  await small.presigner.refreshChanged();
  small.keys.checkTicket = () => {};
  small.clock.advance(61);
  await small.presigner.refreshChanged();
  const found = await small.store.read.presigned.find(small.ca.id, serial, "sha1");
  expect(found.presigned?.revoked).toMatchObject({ reason: "superseded" });
});
