/** Bundles that openssl made are taken apart octet for octet, and no octets do harm. */

import { expect, test } from "bun:test";

import fc from "fast-check";

import { bundledCertificates } from "#core/cms/certs-only.ts";
import { certificatePem } from "#domain/authorities/bundle.ts";
import {
  caRequest,
  initRoot,
  issuanceWorld,
  leafRequest,
  rootOrigin,
} from "#test/support/worlds/issuance.ts";
import { openssl, scratchDirectory } from "#test/support/encodings/openssl.ts";

const world = issuanceWorld();
const root = await initRoot(world);
const issuing = await world.authorities.issueIntermediate(
  rootOrigin,
  root,
  caRequest({ label: "i" }),
);
const { certificate: leaf } = await world.issuance.issue(rootOrigin, issuing, leafRequest());
const chain = [leaf, issuing.certificate, root.certificate].map((der) => der ?? new Uint8Array());

/** The bundle `openssl crl2pkcs7` makes of certificates in this order. */
function bundleOf(ders: readonly Uint8Array[]): Uint8Array {
  using scratch = scratchDirectory();
  const file = scratch.write("chain.pem", ders.map(certificatePem).join(""));
  return openssl(["crl2pkcs7", "-nocrl", "-certfile", file, "-outform", "DER"]);
}

test("every certificate of a bundle comes out as it went in", () => {
  const found = bundledCertificates(bundleOf(chain)) ?? [];
  const texts = (ders: readonly Uint8Array[]) => ders.map((der) => der.toHex()).sort();
  expect(texts(found)).toEqual(texts(chain));
  expect(bundledCertificates(bundleOf([]))).toEqual([]);
});

test("a certificate, a request and noise are no bundles", () => {
  expect(bundledCertificates(leaf)).toBeUndefined();
  expect(bundledCertificates(new Uint8Array())).toBeUndefined();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (octets) => {
      expect(bundledCertificates(octets)).toBeUndefined();
    }),
  );
});

test("a damaged bundle gives certificates that were in it, or nothing", () => {
  const bundle = bundleOf(chain);
  fc.assert(
    fc.property(fc.nat(bundle.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const damaged = Uint8Array.from(bundle);
      damaged[at] = (damaged[at] ?? 0) ^ flip;
      for (const der of bundledCertificates(damaged) ?? []) {
        expect(Buffer.from(damaged).includes(der)).toBe(true);
      }
      expect(bundledCertificates(bundle.subarray(0, at))).toBeUndefined();
    }),
    { numRuns: 150 },
  );
  // Deeper than any parser should follow.
  const deep = new Uint8Array(100_000).fill(0x30);
  expect(bundledCertificates(deep)).toBeUndefined();
});
