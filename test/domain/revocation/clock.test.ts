/** After a clock that leapt ahead is put right (PRC-4), OCSP, presigned answers and deltas are of the present again. */

import { beforeEach, expect, test } from "bun:test";

import type { Serial } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/small-ca.ts";

let small: SmallCa;
let serial: Serial;
beforeEach(async () => {
  small = await smallCa({ presign: { enabled: true } });
  serial = (await small.issue({ validitySeconds: 3 * year })).serial;
});

const year = 365 * 86_400;
/** What a relying party is answered now, and since when the responder's certificate has been valid. */
async function asked() {
  const { subject, spki } = parseCertificate(small.ca.certificate ?? new Uint8Array(0));
  const names = { issuerName: subject.der, issuerSpki: spki };
  const request = encodeOcspRequest({ ...names, serial, hash: "sha1", nonce: undefined });
  const { basic, status } = parseOcspResponse((await small.ocsp.answer(small.ca.id, request)).der);
  const [answer] = basic?.answers ?? [];
  if (basic === undefined || answer === undefined) throw new Error(`no answer: ${status}`);
  const [responder] = basic.certificates.map(parseCertificate);
  return { ...answer, begun: responder?.notBefore ?? 0 };
}
const revoke = () =>
  small.revoker.revoke(
    { ca: small.ca, serial, origin: rootOrigin, mayManageCa: true },
    "superseded",
  );

test("answers kept and signed ahead in the leap are not given, nor is its responder used", async () => {
  small.clock.step(year);
  await small.presigner.sweep();
  await asked();
  small.clock.step(-year);
  const now = await asked();
  expect(now.thisUpdate).toBeLessThanOrEqual(small.clock.now());
  expect(now.begun).toBeLessThanOrEqual(small.clock.now());
  await small.responders.renewals();
  await asked();
  // The one of the leap, and one of the present: no further one is made.
  expect(small.store.state.responders.size).toBe(2);
});

test("a sweep signs anew what was signed ahead in the leap", async () => {
  small.clock.step(year);
  await small.presigner.sweep();
  small.clock.step(-year);
  const { signed } = await small.presigner.sweep();
  expect(signed).toBeGreaterThanOrEqual(2);
  small.keys.beforeSign = () => {
    throw refuse("key_unavailable");
  };
  expect((await asked()).thisUpdate).toBeLessThanOrEqual(small.clock.now());
});

test("a responder that could not be made in the leap is tried again at once", async () => {
  small.clock.step(year);
  small.keys.beforeSign = () => {
    throw refuse("key_unavailable");
  };
  await expect(asked()).rejects.toThrow("no answer");
  small.keys.beforeSign = () => {};
  small.clock.step(-year);
  expect((await asked()).status).toMatchObject({ status: "good" });
});

test("a revocation is in base and delta as soon as ever", async () => {
  await small.refresh.renewals();
  small.clock.step(year);
  await small.refresh.renewals();
  await small.refresh.afterRevocations();
  const other = await small.issue();
  await small.revoker.revoke(
    { ca: small.ca, serial: other.serial, origin: rootOrigin, mayManageCa: true },
    "superseded",
  );
  await small.refresh.afterRevocations();
  small.clock.step(-year);
  await revoke();
  await small.refresh.afterRevocations();
  const { base, delta } = await small.publisher.newest(small.ca.id, "full");
  const covered = await small.store.read.revocations.sequence();
  expect(Math.max(base?.sequence ?? 0, delta?.sequence ?? 0)).toBe(covered);
});

test("set back before the CA itself, the responder there is goes on", async () => {
  const { begun } = await asked();
  small.clock.step(-10 * year);
  small.reopen();
  small.keys.beforeSign = ({ purpose }) => {
    // What the gates say of a certificate that begins before its issuer.
    if (purpose === "responder_certificate") throw refuse("gate_refused");
  };
  expect((await asked()).begun).toBe(begun);
});
