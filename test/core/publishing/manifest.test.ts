/**
 * The manifest: written and read back, read strictly, and its artefacts judged whatever is done to
 * them.
 */

import { expect, test } from "bun:test";
import fc from "fast-check";

import {
  type Artefact,
  artefactKinds,
  BadManifest,
  encodeManifest,
  manifestOf,
  parseManifest,
  plainPath,
} from "#core/publishing/manifest.ts";
import { faultOf } from "#core/publishing/judge.ts";
import { sha256Hex } from "#core/crypto.ts";
import { instant } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { rootOrigin, smallCa } from "#test/support/worlds/small-ca.ts";

const segment = fc.stringMatching(/^[A-Za-z0-9_=-][A-Za-z0-9._=-]{0,20}$/);
const times = fc.integer({ min: 0, max: 4e12 }).map(instant);
const artefacts = fc.record({
  path: fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/")),
  kind: fc.constantFrom(...artefactKinds),
  sha256: fc.stringMatching(/^[0-9a-f]{64}$/),
  size: fc.nat(),
  contentType: fc.constantFrom("application/pkix-crl", "application/ocsp-response"),
  notAfter: times,
});
const manifests = fc
  .record({
    generatedAt: times,
    cas: fc.array(
      fc.record({ id: fc.uuid(), label: segment, ocspResponses: fc.nat(), crlShards: fc.nat() }),
    ),
    artefacts: fc.uniqueArray(artefacts, { selector: ({ path }) => path }),
  })
  .map(manifestOf);

test("what was written is read back", () => {
  fc.assert(
    fc.property(manifests, (manifest) => {
      expect(parseManifest(encodeManifest(manifest))).toEqual(manifest);
    }),
  );
});

test("anything else is refused as no manifest, and never otherwise", () => {
  const text = fc.oneof(fc.string(), fc.json(), fc.constant("{}"));
  fc.assert(
    fc.property(text, (given) => {
      expect(() => parseManifest(given)).toThrow(BadManifest);
    }),
  );
});

test("a path that leaves the snapshot is refused", () => {
  for (const path of ["../x", "a/../b", "/etc/passwd", "a//b", "", "a/.", "..", "a\\b", "a b"]) {
    expect(plainPath(path)).toBe(false);
    const one: Artefact = {
      path,
      kind: "crl",
      sha256: "0".repeat(64),
      size: 1,
      contentType: "x",
      notAfter: instant(0),
    };
    const manifest = manifestOf({ generatedAt: instant(0), cas: [], artefacts: [one] });
    expect(() => parseManifest(encodeManifest(manifest))).toThrow(BadManifest);
  }
});

test("the earliest expiry is that of lists and answers, of certificates only where there are none", () => {
  const one = (kind: Artefact["kind"], at: number): Artefact => ({
    path: `${kind}${at}`,
    kind,
    sha256: "",
    size: 0,
    contentType: "",
    notAfter: instant(at),
  });
  const earliest = (...all: Artefact[]) =>
    manifestOf({ generatedAt: instant(0), cas: [], artefacts: all }).earliestExpiry;
  expect(earliest(one("ca_cert", 1), one("crl", 5), one("ocsp", 3))).toBe(instant(3));
  expect(earliest(one("ca_cert", 7), one("chain", 6))).toBe(instant(6));
  expect(earliest()).toBeUndefined();
});

test("no octet of a list can be changed without being found, with the digest changed along", async () => {
  const small = await smallCa();
  const { serial } = await small.issue();
  await small.revoker.revoke(
    { ca: small.ca, serial, origin: rootOrigin, mayManageCa: true },
    "superseded",
  );
  const { base } = await small.publisher.publish(small.ca, rootOrigin);
  const der = await small.publisher.der(base);
  const issuer = parseCertificate(small.ca.certificate ?? Uint8Array.of());
  const now = small.clock.now();
  const list = (octets: Uint8Array): Artefact => ({
    path: `${small.ca.id}/crl.der`,
    kind: "crl",
    sha256: sha256Hex(octets),
    size: octets.length,
    contentType: "application/pkix-crl",
    notAfter: base.nextUpdate,
    crlNumber: base.number,
  });
  expect(faultOf(list(der), der, issuer, now)).toBeUndefined();
  expect(faultOf(list(der), der, issuer, base.nextUpdate)).toContain("it was good until");
  const place = fc.nat({ max: der.length - 1 });
  fc.assert(
    fc.property(place, fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const changed = Uint8Array.from(der, (octet, index) => (index === at ? octet ^ flip : octet));
      expect(faultOf(list(der), changed, issuer, now)).toContain("digest");
      expect(faultOf(list(changed), changed, issuer, now)).toBeString();
    }),
  );
});
