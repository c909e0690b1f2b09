/**
 * The responder against whatever octets come: always an OCSP response, never more entries than
 * asked, and no memory of it.
 */

import { beforeAll, expect, test } from "bun:test";

import fc from "fast-check";

import { parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest, parseOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

let small: SmallCa;
let honest: Uint8Array;

beforeAll(async () => {
  small = await smallCa({ server: { ocsp_cache_entries: 50 }, presign: { enabled: true } });
  const { serial } = await small.issue();
  const { subject, spki } = parseCertificate(small.ca.certificate ?? new Uint8Array(0));
  const names = { issuerName: subject.der, issuerSpki: spki };
  honest = encodeOcspRequest({ ...names, serial, hash: "sha256", nonce: new Uint8Array(20) });
});

async function answersProperly(octets: Uint8Array): Promise<void> {
  const asked = parseOcspRequest(octets);
  const { der, status } = await small.ocsp.answer(small.ca.id, octets);
  expect(status).toBe(asked === undefined ? "malformedRequest" : "successful");
  // A serial no CA can issue is echoed like any other, and our own reader believes no answer about
  // it.
  if (asked?.certIds.some(({ serial }) => serial === undefined)) return;
  const response = parseOcspResponse(der);
  expect(response.status).toBe(status);
  const echoed = response.basic?.answers.map(({ certId }) => Buffer.from(certId).toString("hex"));
  expect(echoed).toEqual(asked?.certIds.map((one) => Buffer.from(one.der).toString("hex")));
  expect(response.basic?.nonce).toEqual(asked?.nonce);
}

/** One request with some octets changed, taken away or put in. */
const mutated = fc
  .array(fc.record({ at: fc.nat(400), away: fc.nat(3), put: fc.uint8Array({ maxLength: 3 }) }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((changes) => {
    let octets = Buffer.from(honest);
    for (const { at, away, put } of changes) {
      const from = at % octets.length;
      octets = Buffer.concat([octets.subarray(0, from), put, octets.subarray(from + away)]);
    }
    return new Uint8Array(octets);
  });

test("a request with some octets wrong is malformed, or answered entry by entry as asked", async () => {
  await fc.assert(fc.asyncProperty(mutated, answersProperly), { numRuns: 1500 });
}, 30_000);

test("octets of no meaning at all are malformed", async () => {
  const noise = fc.uint8Array({ maxLength: 300 });
  const nested = fc.nat(60).map((depth) => {
    let octets = new Uint8Array(0);
    for (let level = 0; level < depth; level++) {
      octets = Uint8Array.of(0x30, octets.length, ...octets);
    }
    return octets;
  });
  await fc.assert(fc.asyncProperty(fc.oneof(noise, nested), answersProperly), { numRuns: 500 });
}, 30_000);

test("after all of it the honest request is answered, and no fault was told", async () => {
  await answersProperly(honest);
  expect(small.failures).toEqual([]);
});
