/**
 * The chain that comes with an imported CA certificate: of several certificates for one issuer the
 * one that counts is found.
 */

import { expect, test } from "bun:test";

import { checkImport } from "#core/policy/import-checks.ts";
import { instant } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { basicConstraints, keyUsage } from "#core/x509/extensions.ts";
import { OutsideCa } from "#test/support/tls/client-certificates.ts";

const at = (text: string) => instant(Date.parse(text));
const now = at("2026-06-01T00:00:00Z");
const inYear = { notBefore: at("2026-01-01T00:00:00Z"), notAfter: at("2027-01-01T00:00:00Z") };
const root = OutsideCa.root("Root", inYear);
const upper = root.below("Upper", inYear);
const own = upper.below("Own", inYear);
const ended = root.again(upper, { ...inYear, notAfter: at("2026-02-01T00:00:00Z") });

const verdict = (...chain: readonly Uint8Array[]) => {
  const certificate = parseCertificate(own.der);
  return checkImport({
    certificate,
    chain: chain.map(parseCertificate),
    ownSpki: certificate.spki,
    replaced: undefined,
    now,
    subject: certificate.subject.der,
    maxPathLength: undefined,
  });
};

test("a renewed issuer is found beside its ended certificate, whichever stands first", () => {
  for (const chain of [
    [ended, upper.der, root.der],
    [upper.der, ended, root.der],
    [root.der, ended, upper.der],
  ]) {
    const { refused, path } = verdict(...chain);
    expect([refused, path.map(({ der }) => der)]).toEqual([[], [upper.der, root.der]]);
  }
});

test("an issuer that has ended, or may not issue, is refused where there is no other", () => {
  expect(verdict(ended, root.der).refused).toEqual(["chain"]);
  const mute = root.below("Upper", {
    ...inYear,
    more: [basicConstraints(true, undefined), keyUsage(["cRLSign"])],
  });
  expect(verdict(mute.der, root.der).refused).toEqual(["chain"]);
});
