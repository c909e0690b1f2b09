/**
 * Keys whose operations are counted: what responder and KEK did stands in the ledger when the
 * binary has stopped.
 */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";

import { decodePem } from "#core/asn1/pem.ts";
import { parseSerial } from "#core/ids.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";

interface Entry {
  readonly kind: string;
  readonly role: string;
  readonly operation: string;
  readonly signer_fingerprint: string;
  readonly count: string;
  readonly total: string;
}

test("KEY-5, V7: counts of responder and KEK follow their announcements and add up, over two runs", async () => {
  let instance = await Instance.start();
  const chain = await createChain(instance, "ecdsa-p256");
  const pem = await Bun.file(chain.intermediate).text();
  const { subject, spki } = parseCertificate(decodePem(pem, ["CERTIFICATE"]) ?? new Uint8Array());
  const ask = async (from: number) => {
    for (let serial = from; serial < from + 5; serial += 1) {
      const body = encodeOcspRequest({
        issuerName: subject.der,
        issuerSpki: spki,
        hash: "sha256",
        serial: parseSerial(String(serial)),
      });
      const headers = { "content-type": "application/ocsp-request" };
      const path = `/api/ca/${chain.intermediateId}/ocsp`;
      const answer = await instance.fetch(path, {
        method: "POST",
        headers,
        body: Buffer.from(body),
      });
      expect(answer.status).toBe(200);
    }
  };
  await ask(1);
  await instance.stop();
  const { home, dataDir } = instance;
  instance = await Instance.start({ home });
  await ask(6);
  await instance.stop();
  const ledger = entries(join(dataDir, "pkid.db"));
  for (const [role, operation] of [
    ["responder", "sign"],
    ["kek", "decrypt"],
  ] as const) {
    const counts = ledger.filter((entry) => entry.kind === "count" && entry.role === role);
    expect(counts.length).toBeGreaterThan(1);
    let total = 0;
    for (const entry of counts) {
      total += Number(entry.count);
      expect(entry).toMatchObject({ operation, total: String(total) });
      const announced = ledger.findIndex(
        ({ kind, signer_fingerprint: key }) => kind === "key" && key === entry.signer_fingerprint,
      );
      expect(announced).toBeGreaterThan(0);
      expect(announced).toBeLessThan(ledger.indexOf(entry));
    }
    if (role === "responder") expect(total).toBeGreaterThanOrEqual(10);
  }
  await instance.dispose();
}, 60_000);

function entries(file: string): readonly Entry[] {
  const database = new Database(file, { readonly: true });
  const rows = database.query("select * from ledger order by number").all();
  database.close();
  return rows as Entry[]; // Its columns are named as the wire's.
}
