/** CRLs: numbers, times, entries and signatures, read by our own decoder and by openssl. */

import { afterAll, beforeEach, expect, test } from "bun:test";

import { encodePem } from "#core/asn1/pem.ts";
import { parseSerial, type Serial } from "#core/ids.ts";
import { Problem, refuse } from "#core/problems.ts";
import { addSeconds } from "#core/time.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import { parseCrl } from "#core/x509/crl.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { issuerOf } from "#domain/revocation/issuers.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";
import { openssl } from "#test/support/instances/relying-party.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

const bench = scratchDirectory();
afterAll(() => bench[Symbol.dispose]());
const run = (...args: readonly string[]) => openssl(args, { mustPass: false });

let small: SmallCa;
beforeEach(async () => {
  small = await smallCa();
});

const revoke = async (serial = "1") => {
  const request = { ca: small.ca, serial: parseSerial(serial), origin: rootOrigin };
  return await small.revoker.revoke({ ...request, mayManageCa: true }, "superseded");
};
const ledger = () => small.store.listLedger();
const serialsOf = (der: Uint8Array) => parseCrl(der).entries.map(({ serial }) => String(serial));

test("the first CRL is number 1, empty, backdated, and lives as long as configured", async () => {
  const crl = await small.publisher.current(small.ca);
  const parsed = parseCrl(await small.publisher.der(crl));
  expect([parsed.number, parsed.entries.length]).toEqual([1, 0]);
  expect(parsed.thisUpdate).toBe(addSeconds(small.clock.at, -300));
  expect(parsed.nextUpdate).toBe(addSeconds(small.clock.at, 168 * 3600));
  expect(small.store.listEvents()[0]).toMatchObject({
    action: "crl.publish",
    actor: "system:crl",
    actorRoles: "system",
    target: small.ca.id,
    targetName: "full",
    detail: expect.stringMatching(/^number=1 kind=base entries=0 sha256=[0-9a-f]{64}$/),
  });
});

test("a CRL is in the ledger before it is signed and closed after", async () => {
  small.keys.checkTicket = () => {
    expect(ledger().map(({ kind }) => kind)).toEqual(["intent"]);
  };
  await small.publisher.publishBase(small.ca, rootOrigin);
  expect(ledger()).toMatchObject([
    { kind: "intent", purpose: "crl", artifact: "full#1", role: "ca" },
    { kind: "outcome", purpose: "crl", artifact: "full#1", result: "success" },
  ]);
});

for (const keyType of ["ecdsa-p384", "ed25519", "rsa-2048"] as const satisfies KeyType[]) {
  test(`openssl verifies a CRL signed with ${keyType}, and rejects the revoked`, async () => {
    small = await smallCa({ keyType });
    await revoke("4660");
    const der = await published();
    const ca = bench.write("ca.pem", pemOf(small.ca));
    const crl = bench.write("crl.der", der);
    const verdict = await run("crl", "-inform", "DER", "-in", crl, "-CAfile", ca, "-verify");
    expect(verdict.text).toContain("verify OK");
    const { text } = await run("crl", "-inform", "DER", "-in", crl, "-noout", "-text");
    expect(text).toContain("Version 2");
    expect(text).toContain("Serial Number: 1234");
    expect(text).toContain("Superseded");
    expect(text).toContain("X509v3 Authority Key Identifier");
  });
}

test("openssl verify refuses a revoked responder certificate with the CRL and accepts it before", async () => {
  await small.responders.signer(issuerOf(small.ca), 0);
  const responder = await small.store.read.revocations.responder(small.ca.id);
  if (responder === undefined) throw new Error("no responder was made");
  const files = [
    bench.write("ca.pem", pemOf(small.ca)),
    bench.write("leaf.pem", encodePem("CERTIFICATE", responder.certificate)),
  ] as const;
  const verdict = async () => {
    const der = await published();
    const crl = bench.write("crl.pem", encodePem("X509 CRL", der));
    const at = String(small.clock.at / 1000);
    const args = ["-CAfile", files[0], "-CRLfile", crl, "-crl_check_all", "-attime", at, files[1]];
    return (await run("verify", ...args)).text;
  };
  expect(await verdict()).toContain("leaf.pem: OK");
  await revoke(responder.serial);
  expect(await verdict()).toContain("certificate revoked");
});

test("thisUpdate moves forward at least a second, also when the clock steps back and nobody has confirmed that", async () => {
  small.leapt.believed = false;
  const times: number[] = [];
  for (const step of [0, 0, -3600, 7200]) {
    small.clock.advance(step);
    const crl = parseCrl(
      await small.publisher.der(await small.publisher.publishBase(small.ca, rootOrigin)),
    );
    times.push(crl.thisUpdate);
    expect(crl.nextUpdate).toBeGreaterThan(small.clock.at);
  }
  for (const [index, time] of times.entries()) {
    expect(time - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(1000);
  }
});

test("a list that many read at the same time is kept once", async () => {
  const { id: caId } = small.ca;
  const facts = { revokedAt: small.clock.at, known: false, expiresAt: undefined };
  const entries = Array.from({ length: 5000 }, (_, at) => ({
    caId,
    serial: String(10n ** 30n + BigInt(at)) as Serial,
    reason: "superseded" as const,
    ...facts,
  }));
  await small.store.atomically((tx) => tx.revocations.putMany(caId, entries));
  const crl = await small.publisher.publishBase(small.ca, rootOrigin);
  const { revocations } = small.store.read;
  const read = revocations.crlPiece.bind(revocations);
  let reads = 0;
  Reflect.set(revocations, "crlPiece", async (...asked: Parameters<typeof read>) => {
    reads += 1;
    return await read(...asked);
  });
  // Counted for each of them, they would fill the memory that lists have.
  await Promise.all(Array.from({ length: 300 }, () => small.publisher.der(crl)));
  const before = reads;
  await small.publisher.der(crl);
  expect(reads).toBe(before);
});

test("a number is never used twice, also when signing fails", async () => {
  small.keys.checkTicket = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  const failed = await small.publisher.current(small.ca).catch((error) => error);
  expect(failed).toBeInstanceOf(Problem);
  expect(failed.code).toBe("crl_unavailable");
  expect(ledger()[1]).toMatchObject({ kind: "outcome", result: "error", error: "key_unavailable" });
  small.keys.checkTicket = () => {};
  small.clock.advance(5);
  expect((await small.publisher.current(small.ca)).number).toBe(2);
});

test("a list that is signed and not published is closed as failed, and its number is not used again", async () => {
  for (const operation of ["revocations.putCrlPiece", "revocations.publishCrl"]) {
    small.store.checkWrite = (write) => {
      if (write === operation) throw new Error("a fault of the driver");
    };
    await expect(small.publisher.publishBase(small.ca, rootOrigin)).rejects.toThrow("driver");
    expect(ledger().at(-1)).toMatchObject({ purpose: "crl", result: "error", error: "internal" });
  }
  small.store.checkWrite = () => {};
  expect((await small.publisher.publishBase(small.ca, rootOrigin)).number).toBe(3);
  expect(await small.store.read.audit.openLedgerIntents(10)).toEqual([]);
});

test("downloads during an outage do not each try to sign", async () => {
  small.keys.checkTicket = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  for (let download = 0; download < 3; download++) {
    await small.publisher.current(small.ca).catch(() => {});
  }
  expect(ledger()).toHaveLength(2);
});

test("a CRL past nextUpdate is never served", async () => {
  await small.publisher.current(small.ca);
  small.clock.advance(168 * 3600);
  expect((await small.publisher.current(small.ca)).number).toBe(2);
});

test("calls during a build share one more build that sees what they saw", async () => {
  const first = small.publisher.publishBase(small.ca, rootOrigin);
  await revoke("5");
  const [one, two, three] = await Promise.all([
    first,
    small.publisher.publishBase(small.ca, rootOrigin),
    small.publisher.publishBase(small.ca, rootOrigin),
  ]);
  expect([one.number, two.number, three.number]).toEqual([1, 2, 2]);
  expect(serialsOf(await small.publisher.der(two))).toEqual(["5"]);
  expect((await small.publisher.publishBase(small.ca, rootOrigin)).number).toBe(3);
});

test("an entry leaves after one CRL past its expiry, a bare one never does", async () => {
  const { serial } = await small.issue({ validitySeconds: 3600 });
  await revoke(serial);
  await revoke("9");
  const publish = async () => {
    const der = await published();
    return serialsOf(der);
  };
  expect(await publish()).toEqual([serial, "9"]);
  small.clock.advance(3600 + 301);
  expect(await publish()).toEqual([serial, "9"]);
  expect(await publish()).toEqual(["9"]);
  expect(await publish()).toEqual(["9"]);
});

test("a certificate revoked after its expiry is listed once more", async () => {
  const { serial } = await small.issue({ validitySeconds: 10 });
  await small.publisher.publishBase(small.ca, rootOrigin);
  small.clock.advance(1000);
  await small.publisher.publishBase(small.ca, rootOrigin);
  await revoke(serial);
  expect(serialsOf(await published())).toEqual([serial]);
  expect(serialsOf(await published())).toEqual([]);
});

test("more entries than a page are all listed", async () => {
  for (let serial = 1; serial <= 2001; serial++) {
    await small.store.atomically((tx) =>
      tx.revocations.put({
        caId: small.ca.id,
        serial: parseSerial(String(serial)),
        revokedAt: small.clock.at,
        reason: "unspecified",
        known: false,
        expiresAt: undefined,
      }),
    );
  }
  const crl = await small.publisher.publishBase(small.ca, rootOrigin);
  const der = await small.publisher.der(crl);
  expect([crl.entries, new Set(serialsOf(der)).size]).toEqual([2001, 2001]);
}, 20_000);

test("an expired CA signs no CRL", async () => {
  small.clock.advance(11 * 365 * 86_400);
  const refused = await small.publisher.current(small.ca).catch((error) => error);
  expect(refused.code).toBe("crl_unavailable");
});

const published = async () =>
  await small.publisher.der(await small.publisher.publishBase(small.ca, rootOrigin));
const pemOf = (ca: CaRecord) => encodePem("CERTIFICATE", ca.certificate ?? new Uint8Array(0));

test("under a clock that leapt ahead no entry leaves as expired, and none is gone when the clock is right again", async () => {
  const { serial } = await small.issue({ validitySeconds: 90 * 86_400 });
  await revoke(String(serial));
  const listed = async () => {
    const crl = await small.publisher.publishBase(small.ca, rootOrigin);
    return serialsOf(await small.publisher.der(crl));
  };
  expect(await listed()).toEqual([String(serial)]);
  small.leapt.ahead = true;
  small.clock.step(365 * 86_400);
  for (let n = 0; n < 3; n++) expect(await listed()).toEqual([String(serial)]);
  small.clock.step(-365 * 86_400);
  small.leapt.ahead = false;
  for (let n = 0; n < 3; n++) expect(await listed()).toEqual([String(serial)]);
});

test("a leap nobody noticed costs no entry either, once the clock is right again", async () => {
  const { serial } = await small.issue({ validitySeconds: 90 * 86_400 });
  await revoke(String(serial));
  const publish = () => small.publisher.publishBase(small.ca, rootOrigin);
  await publish();
  small.clock.step(365 * 86_400);
  for (let n = 0; n < 2; n++) await publish();
  small.clock.step(-365 * 86_400);
  expect(serialsOf(await small.publisher.der(await publish()))).toEqual([String(serial)]);
});
