/**
 * Revocation of certificates that were really issued: ceremony, responder, OCSP and CRL in one
 * world.
 */

import { afterAll, expect, test } from "bun:test";

import { encodePem } from "#core/asn1/pem.ts";
import { certifyResponder } from "#domain/certificates/responder.ts";
import { openRevocation } from "#domain/revocation/open.ts";
import { initRoot, issuanceWorld, leafRequest, rootOrigin } from "#test/support/worlds/issuance.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";
import { openssl } from "#test/support/instances/relying-party.ts";
import { revocationDefaults } from "#test/support/worlds/small-ca.ts";

const bench = scratchDirectory();
afterAll(() => bench[Symbol.dispose]());

const world = issuanceWorld();
const revocation = openRevocation(revocationDefaults, {
  ...world,
  publicProfile: () => false,
  wake: () => {},
  counts: { add: () => {} },
  clockAhead: () => false,
  clockBelieved: () => true,
  crlFiles: undefined,
  signCertificate: (request) => certifyResponder(world, request),
  onFailure: (_what, error) => {
    throw error;
  },
});

test("openssl believes an answer about an issued certificate, and the CRL that revokes it", async () => {
  const root = await initRoot(world);
  const { record } = await world.issuance.issue(rootOrigin, root, leafRequest());
  const { serial } = record;
  const ca = bench.write("ca.pem", encodePem("CERTIFICATE", root.certificate ?? new Uint8Array(0)));
  const leaf = bench.write("leaf.pem", encodePem("CERTIFICATE", record.certificate));
  const request = bench.write("request.der", "");
  await openssl(["ocsp", "-sha256", "-issuer", ca, "-cert", leaf, "-reqout", request]);
  const at = ["-attime", String(world.clock.at / 1000)];

  const verdict = async () => {
    const { der } = await revocation.ocsp.answer(root.id, await Bun.file(request).bytes());
    const response = bench.write("response.der", der);
    const files = ["-reqin", request, "-respin", response, "-CAfile", ca];
    const { text } = await openssl(["ocsp", ...files, ...at, "-resp_text"], { mustPass: false });
    expect(text).toContain("Response verify OK");
    return /Cert Status: (\w+)/.exec(text)?.[1];
  };

  expect(await verdict()).toBe("good");
  const asked = { ca: root, serial, origin: rootOrigin, mayManageCa: true };
  await revocation.revoker.revoke(asked, "keyCompromise");
  expect(await verdict()).toBe("revoked");

  const der = await revocation.publisher.der(
    await revocation.publisher.publishBase(root, rootOrigin),
  );
  const crl = bench.write("crl.pem", encodePem("X509 CRL", der));
  const checked = ["verify", "-CAfile", ca, "-CRLfile", crl, "-crl_check_all", ...at, leaf];
  expect((await openssl(checked, { mustPass: false })).text).toContain("certificate revoked");
});

test("the responder of a retired CA is still certified", async () => {
  const root = await initRoot(world, { label: "old" });
  await world.store.tamper("update cas set status = 'retired' where id = ?", root.id);
  await revocation.refresh.renewals();
  expect(await world.store.read.revocations.crlHead(root.id, "full", "base")).toMatchObject({
    number: 1,
  });
  await revocation.responders.replace(root.id);
  expect(await world.store.read.revocations.responder(root.id)).toBeDefined();
});
