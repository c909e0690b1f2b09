/**
 * Serials of other programs that are negative, zero or too long: one rule for lists and
 * inventories. An entry that cannot be stored does not exclude the others.
 */

import { beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { decodePem } from "#core/asn1/pem.ts";
import { parseIndexLine } from "#core/foreign-ca/openssl-index.ts";
import { recordReaders } from "#core/foreign-ca/records.ts";
import type { Serial } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import { parseCertificate, readSerialNumber } from "#core/x509/certificate.ts";
import { openCrl } from "#core/x509/crl.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { ca } from "#test/support/stores/records.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

const fixture = (name: string) => readFileSync(join(import.meta.dir, "foreign-serials", name));
const authority = decodePem(fixture("ca.pem").toString("latin1"), ["CERTIFICATE"]);
if (authority === undefined) throw new Error("the fixture is a certificate");
const certificate = parseCertificate(authority);

/** 2^161, one bit more than can be stored. */
const long = "2923003274661805836407369665432566039311865085952";

let small: SmallCa;
let legacy: CaRecord;
beforeEach(async () => {
  small = await smallCa();
  small.clock.at = instant(Date.UTC(2026, 5, 1));
  const { der, spki, serial } = certificate;
  legacy = ca({ label: "legacy", certificate: der, spki, serial, keyType: "rsa-2048" });
  await small.store.atomically((tx) => tx.cas.insert(legacy));
});

const entry = (serial: string) =>
  small.store.read.revocations.bySerial(legacy.id, serial as Serial);

describe("a list with an entry of", () => {
  test.each([
    ["negative.crl", "-36", "36877"],
    ["long.crl", long, "36878"],
  ])("%s names the entry that is skipped and imports the other", async (file, skipped, other) => {
    const done = await small.crlImport.import(legacy, fixture(file), rootOrigin);
    expect(done).toEqual({
      imported: 1,
      alreadyRevoked: 0,
      skipped: 1,
      skippedSerials: [skipped],
    });
    expect(await entry(skipped)).toBeUndefined();
    expect(await entry(other)).toMatchObject({ known: false });
    const event = small.store.listEvents().at(-1);
    expect(event?.detail).toBe("imported=1 already_revoked=0 skipped=1");
  });

  test("zero imports both", async () => {
    const done = await small.crlImport.import(legacy, fixture("zero.crl"), rootOrigin);
    expect(done).toMatchObject({ imported: 2, skipped: 0 });
    expect(await entry("0")).toMatchObject({ known: false });
    expect(await entry("36876")).toMatchObject({ known: false });
    const status = await small.store.read.revocations.certStatus(legacy.id, "0" as Serial);
    expect(status).toMatchObject({ status: "revoked" });
  });
});

test("the strict reader refuses a list that the lenient one reads with its numbers", () => {
  for (const [file, number] of [
    ["negative.crl", -36n],
    ["long.crl", BigInt(long)],
  ] as const) {
    expect(() => [...openCrl(fixture(file)).entries()]).toThrow("negative or too long");
    const [first] = [...openCrl(fixture(file)).foreignEntries()];
    expect(first).toMatchObject({ serial: undefined, number });
  }
});

test("a line of index.txt keeps zero and reports every other number out of range", () => {
  const line = (name: string) =>
    parseIndexLine(`R\t340101000000Z\t250101000000Z,keyCompromise\t${name}\tunknown\t/CN=a`);
  expect(line("00")).toMatchObject({ serial: "0", name: "00" });
  expect(line("-05")).toMatchObject({ serial: "-5", fault: expect.stringContaining("-5") });
  const hex = `02${"00".repeat(20)}`;
  expect(line(hex)).toMatchObject({ serial: long, fault: expect.stringContaining(long) });
});

test("a record keeps zero and reports every other number out of range", () => {
  const row = { status: "revoked", reason: "1", revoked_at: "2025-01-01T00:00:00Z", pem: "?" };
  const read = (serial_number: unknown) => recordReaders.cfssl({ ...row, serial_number });
  expect(read("0")).toMatchObject({ serial: "0" });
  expect(read(0)).toMatchObject({ serial: "0" });
  expect(read("-5")).toMatchObject({ serial: "-5", fault: expect.stringContaining("-5") });
  expect(read(long)).toMatchObject({ serial: long, fault: expect.stringContaining(long) });
});

describe("a certificate with serial zero", () => {
  const issuer = { certificate, profile: undefined };
  const leaf = decodePem(fixture("leaf-zero.pem").toString("latin1"), ["CERTIFICATE"]);
  const at = instant(Date.UTC(2025, 0, 1));
  const importLeaf = async (revoked: boolean) => {
    const reason = "unspecified" as const;
    const offer = {
      certificate: leaf,
      serial: undefined,
      revoked: revoked ? { at, reason } : undefined,
    };
    return await small.adoption.adopt({ ca: legacy, issuer, origin: rootOrigin }, [offer]);
  };

  test("a good certificate is refused, because no operation could revoke it", async () => {
    const refused = { result: "refused", serial: "0", fault: "serial_range" } as const;
    expect(await importLeaf(false)).toEqual([refused] as never);
    expect(await small.store.read.certificates.bySerial(legacy.id, "0" as Serial)).toBeUndefined();
    expect(readSerialNumber(leaf ?? new Uint8Array())).toBe(0n);
  });

  test("a revoked certificate leaves an entry", async () => {
    expect(await importLeaf(true)).toMatchObject([{ result: "entered", serial: "0" }]);
    expect(await entry("0")).toMatchObject({ known: false, revokedAt: at });
  });
});
