/** What people read of a certificate: the same as openssl put into it. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { certificateText } from "#cli/certificate-text.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { opensslText } from "#test/support/encodings/openssl.ts";

// biome-ignore format: the table is read by column.
const extensions = [
  ["subjectAltName=DNS:www.acme.test,IP:192.0.2.7,email:a@acme.test", "subjectAltName          no        dns:www.acme.test, ip:192.0.2.7, email:a@acme.test"],
  ["basicConstraints=critical,CA:TRUE,pathlen:1",      "basicConstraints        yes       CA, path length 1"],
  ["keyUsage=critical,digitalSignature,cRLSign",       "keyUsage                yes       digitalSignature, cRLSign"],
  ["extendedKeyUsage=serverAuth,1.2.3.4",              "extKeyUsage             no        serverAuth, 1.2.3.4"],
  ["certificatePolicies=1.2.3,2.23.140.1.2.1",         "certificatePolicies     no        1.2.3, 2.23.140.1.2.1"],
  ["authorityInfoAccess=OCSP;URI:http://o.test/,caIssuers;URI:http://c.test/a", "authorityInfoAccess     no        accessOcsp uri:http://o.test/, accessCaIssuers uri:http://c.test/a"],
  ["crlDistributionPoints=URI:http://c.test/a,URI:http://c.test/b", "crlDistributionPoints   no        uri:http://c.test/a, uri:http://c.test/b"],
  ["tlsfeature=status_request",                        "tlsFeature              no        status_request"],
  ["nameConstraints=critical,permitted;DNS:acme.test,excluded;IP:10.0.0.0/255.0.0.0", "nameConstraints         yes       permitted dns:acme.test, excluded ip:10.0.0.0/8"],
  ["1.2.3.4.5=ASN1:UTF8:hello",                        "1.2.3.4.5               no        0c0568656c6c6f"],
] as const;

test("fields and extensions are shown by name, others by OID in hex", () => {
  const text = certificateText(selfSigned(extensions.flatMap(([given]) => ["-addext", given])));
  for (const [, line] of extensions) expect(text).toContain(`${line}\n`);
  expect(text).toContain("subject:    CN=www.acme.test,O=Acme\n");
  expect(text).toContain("key:        ecdsa-p256\nsignature:  ecdsa-sha256\n");
});

test("an extension that says something else than its RFC is shown in hex", () => {
  const text = certificateText(selfSigned(["-addext", "keyUsage=DER:0500"]));
  expect(text).toMatch(/keyUsage +no +0500\n/);
});

test("any octets are shown or said to be unreadable", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (octets) => {
      expect(certificateText(encodePem("CERTIFICATE", octets))).toStartWith("unreadable:");
    }),
  );
  expect(certificateText("")).toBe("");
});

function selfSigned(options: readonly string[]): string {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const subject = ["-subj", "/O=Acme/CN=www.acme.test", "-keyout", "/dev/null"];
  return opensslText(["req", "-x509", ...key, ...subject, ...options]);
}
