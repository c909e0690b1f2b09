/**
 * Exports of step-ca, cfssl, Vault and EJBCA, written as their tables are from certificates that
 * openssl has made: each brings the same, and after one the others find everything here.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";

import { decodePem } from "#core/asn1/pem.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { OpensslCa } from "#test/support/instances/openssl-ca.ts";

const revokedAt = new Date(Math.floor(Date.now() / 1000) * 1000 - 3_600_000);
let old: OpensslCa;
let instance: Instance;
const serials: string[] = [];

beforeAll(async () => {
  old = await OpensslCa.make();
  for (const cn of ["a.example", "b.example", "c.example"]) serials.push(await old.issue(cn));
  const rows = serials.map((name, at) => rowOf(name, at === 2));
  old.write("cfssl.json", JSON.stringify(rows.map(cfssl), null, 2));
  const [header = {}] = rows.map(cfssl);
  const line = (row: object) => Object.values(row).map(quoted).join(",");
  old.write(
    "cfssl.csv",
    `${Object.keys(header).join(",")}\n${rows.map(cfssl).map(line).join("\n")}`,
  );
  old.write(
    "step-ca.jsonl",
    rows
      .flatMap(stepCa)
      .map((one) => JSON.stringify(one))
      .join("\n"),
  );
  old.write("vault.jsonl", rows.map((one) => JSON.stringify(vault(one))).join("\n"));
  old.write("ejbca.csv", ejbcaTable(rows));
  instance = await Instance.start({});
}, 60_000);
afterAll(() => instance.dispose());

interface Row {
  readonly serial: string;
  readonly pem: string;
  readonly revoked: boolean;
}
function rowOf(name: string, revoked: boolean): Row {
  const text = readFileSync(old.file(`newcerts/${name}.pem`), "utf8");
  return { serial: BigInt(`0x${name}`).toString(), pem: text, revoked };
}
const base64Of = ({ pem }: Row) => (decodePem(pem, ["CERTIFICATE"]) ?? new Uint8Array()).toBase64();
const quoted = (value: unknown) => `"${String(value).replaceAll('"', '""')}"`;

const cfssl = ({ serial, pem, revoked }: Row) => ({
  serial_number: serial,
  authority_key_identifier: "",
  ca_label: "",
  status: revoked ? "revoked" : "good",
  reason: revoked ? 1 : 0,
  expiry: "2036-01-01T00:00:00Z",
  revoked_at: revoked ? revokedAt.toISOString() : "0001-01-01T00:00:00Z",
  pem,
});
const stepCa = (row: Row) => {
  const key = row.serial;
  const said = { Serial: key, ReasonCode: 1, RevokedAt: revokedAt.toISOString() };
  const value = Buffer.from(JSON.stringify(said)).toString("base64");
  const revoked = row.revoked ? [{ bucket: "revoked_x509_certs", key, value }] : [];
  return [{ bucket: "x509_certs", key, value: base64Of(row) }, ...revoked];
};
const vault = ({ pem, revoked }: Row) => ({
  request_id: "1",
  data: { certificate: pem, revocation_time: revoked ? revokedAt.getTime() / 1000 : 0 },
});
const ejbcaTable = (rows: readonly Row[]) => {
  const lines = rows.map((row) => {
    const end = row.revoked ? [40, revokedAt.getTime(), 1] : [20, -1, -1];
    return [row.serial, base64Of(row), ...end].join(",");
  });
  return `serialNumber,base64Cert,status,revocationDate,revocationReason\n${lines.join("\n")}\n`;
};

const imported = async (source: string, file: string, ...more: readonly string[]) => {
  const key = ["--ca-cert", old.file("cacert.pem"), "--ca-key", old.file("private/cakey.pem")];
  const label = ["--label", "old", "--crl-number", "41", "--json"];
  const ran = await instance.cli("import", source, old.file(file), ...label, ...key, ...more);
  return { code: ran.code, told: JSON.parse(ran.stdout), stderr: ran.stderr };
};

const exports = [
  ["cfssl", "cfssl.json", 3],
  ["cfssl", "cfssl.csv", 3],
  ["step-ca", "step-ca.jsonl", 4],
  ["vault", "vault.jsonl", 3],
  ["ejbca", "ejbca.csv", 3],
] as const;

describe.each(exports)("an export of %s in %s", (source, file, read) => {
  test("would bring three certificates, one of them revoked", async () => {
    const { code, told } = await imported(source, file, "--dry-run");
    expect(code).toBe(0);
    expect(told).toMatchObject({ read, imported: 3, refused: 0, crl_number: 41 });
  }, 30_000);
});

test("one of them is taken over, and every other one finds everything here", async () => {
  const first = await imported("ejbca", "ejbca.csv");
  expect(first.told).toMatchObject({ imported: 3, refused: 0, ca: { status: "active" } });
  for (const [source, file, read] of exports) {
    const { code, told } = await imported(source, file);
    expect([code, told]).toMatchObject([0, { read, imported: 0, present: read, refused: 0 }]);
  }
  const { id } = first.told.ca;
  const { items } = await instance.admin<{ items: readonly unknown[] }>(
    "GET",
    `/api/ca/${id}/revoked`,
  );
  const serial = BigInt(`0x${serials[2]}`).toString();
  expect(items).toMatchObject([
    { serial, reason: "keyCompromise", revoked_at: revokedAt.toISOString().replace("Z", "000Z") },
  ]);
  const proven = await instance.cli("verify");
  expect([proven.code, proven.stdout]).toEqual([0, expect.stringContaining("Every proof holds")]);
}, 60_000);

test("a record of another form is named by file and line", async () => {
  old.write("odd.json", '[{"serial_number": "1", "status": "good"},\n {"pem": ""}]');
  const { code, told } = await imported("cfssl", "odd.json", "--dry-run");
  expect(code).toBe(1);
  expect(told.refusals).toMatchObject([
    { place: `${old.file("odd.json")}:1`, reason: expect.stringContaining("pem") },
    { place: `${old.file("odd.json")}:2`, reason: expect.stringContaining("serial_number") },
  ]);
}, 30_000);
