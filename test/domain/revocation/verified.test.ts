/**
 * What openssl makes of the pointers in certificates: full CRL, partition by distribution point,
 * and deltas by freshestCRL.
 */

import { afterAll, expect, test } from "bun:test";

import { encodePem } from "#core/asn1/pem.ts";
import type { Serial } from "#core/ids.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { parseCrl } from "#core/x509/crl.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import { partitionScope } from "#domain/revocation/scopes.ts";
import { caRequest, initRoot, leafRequest, rootOrigin } from "#test/support/worlds/issuance.ts";
import { node24Present, signatureVerifies } from "#test/support/encodings/node24.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";
import { openssl } from "#test/support/instances/relying-party.ts";
import { revokingWorld } from "#test/support/worlds/revoking-world.ts";

const bench = scratchDirectory();
afterAll(() => bench[Symbol.dispose]());

const urlBase = "http://crl.example";
type World = ReturnType<typeof revokingWorld>;

const revoke = (world: World, ca: CaRecord, serial: Serial, action: "revoke" | "release") => {
  const request = { ca, serial, origin: rootOrigin, mayManageCa: true };
  return action === "revoke"
    ? world.revoker.revoke(request, "certificateHold")
    : world.revoker.release(request);
};

/**
 * What openssl says of a certificate, given every list of the scope its distribution point names,
 * and the root's.
 */
async function verdict(world: World, root: CaRecord, issuing: CaRecord, leaf: CertificateRecord) {
  const scope = leaf.crlPartition === undefined ? "full" : partitionScope(leaf.crlPartition);
  const heads = [
    await world.publisher.current(root, "full", "base"),
    await world.publisher.current(root, "full", "delta"),
    await world.publisher.current(issuing, scope, "base"),
    await world.publisher.current(issuing, scope, "delta"),
  ];
  const ders = await Promise.all(heads.map((head) => world.publisher.der(head)));
  const crls = ders.map((der) => encodePem("X509 CRL", der)).join("");
  const pem = (der: Uint8Array | undefined) => encodePem("CERTIFICATE", der ?? new Uint8Array(0));
  const args = [
    "-CAfile",
    bench.write("root.pem", pem(root.certificate)),
    "-untrusted",
    bench.write("issuing.pem", pem(issuing.certificate)),
    "-CRLfile",
    bench.write("crls.pem", crls),
    "-crl_check_all",
    "-extended_crl",
    "-use_deltas",
    "-attime",
    String(world.clock.at / 1000),
    bench.write("leaf.pem", pem(leaf.certificate)),
  ];
  return (await openssl(["verify", ...args], { mustPass: false })).text;
}

async function hierarchy(keyType: KeyType, shards: number) {
  const world = revokingWorld({ urlBase, shards });
  const root = await initRoot(world, { keyType });
  const request = caRequest({ label: "issuing", keyType });
  const issuing = await world.authorities.issueIntermediate(rootOrigin, root, request);
  const issue = async (): Promise<CertificateRecord> => {
    const { serial } = await world.issuance.issue(rootOrigin, issuing, leafRequest());
    const row = await world.store.read.certificates.bySerial(issuing.id, serial);
    if (row === undefined) throw new Error("an issued certificate is in the inventory");
    return row;
  };
  return { world, root, issuing, issue };
}

for (const keyType of ["ecdsa-p256", "rsa-2048", "ed25519"] as const satisfies KeyType[]) {
  for (const shards of [0, 4]) {
    test(`openssl sees hold, release and revocation through deltas of ${shards} partitions by ${keyType}`, async () => {
      const { world, root, issuing, issue } = await hierarchy(keyType, shards);
      const [leaf, other] = [await issue(), await issue()];
      expect(leaf.crlPartition === undefined).toBe(shards === 0);
      const said = () => verdict(world, root, issuing, leaf);
      expect(await said()).toContain("leaf.pem: OK");
      await revoke(world, issuing, leaf.serial, "revoke");
      await world.refresh.deltas();
      expect(await said()).toContain("certificate revoked");
      world.clock.advance(60);
      await world.refresh.afterRevocations();
      expect(await said()).toContain("certificate revoked");
      await revoke(world, issuing, leaf.serial, "release");
      world.clock.advance(1);
      await world.refresh.deltas();
      expect(await said()).toContain("leaf.pem: OK");
      expect(await verdict(world, root, issuing, other)).toContain("leaf.pem: OK");
    });
  }
}

test("a partition does not answer for a certificate of another one", async () => {
  const { world, root, issuing, issue } = await hierarchy("ecdsa-p256", 2);
  const leaf = await issue();
  const foreign = { ...leaf, crlPartition: 1 - (leaf.crlPartition ?? 0) };
  expect(await verdict(world, root, issuing, foreign)).toContain("different CRL scope");
});

test.skipIf(!node24Present)(
  "OpenSSL 3.5 verifies partition and delta signed with ML-DSA",
  async () => {
    const { world, issuing, issue } = await hierarchy("ml-dsa-65", 2);
    const leaf = await issue();
    await revoke(world, issuing, leaf.serial, "revoke");
    for (const kind of ["base", "delta"] as const) {
      const scope = partitionScope(leaf.crlPartition ?? 0);
      const head = await world.publisher.current(issuing, scope, kind);
      const { tbs, signature } = parseCrl(await world.publisher.der(head));
      const { spki } = parseCertificate(issuing.certificate ?? new Uint8Array(0));
      expect(signatureVerifies(spki, tbs, signature)).toBe(true);
    }
  },
);
