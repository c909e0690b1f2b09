/** Certificates in files as other PKIs write them reach the server as PEM, the lowest first. */

import { expect, test } from "bun:test";

import { certificatePem } from "#domain/authorities/bundle.ts";
import {
  caRequest,
  initRoot,
  issuanceWorld,
  leafRequest,
  rootOrigin,
} from "#test/support/worlds/issuance.ts";
import { openssl, scratchDirectory } from "#test/support/encodings/openssl.ts";
import { shell } from "#test/support/instances/shell.ts";

const world = issuanceWorld();
const root = await initRoot(world);
const issuing = await world.authorities.issueIntermediate(
  rootOrigin,
  root,
  caRequest({ label: "i" }),
);
const { certificate: leaf } = await world.issuance.issue(rootOrigin, issuing, leafRequest());
const [leafPem = "", ...above] = [leaf, issuing.certificate, root.certificate].map((der) =>
  certificatePem(der ?? new Uint8Array()),
);
const id = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
const imported = (file: string, more: readonly string[] = []) =>
  shell(["ca", "import-cert", id, "--cert", file, ...more]);

test("a CA's certificate is imported from PEM, DER and PKCS#7 alike, with the chain in the same file", async () => {
  using scratch = scratchDirectory();
  // Any order: a bundle is a set.
  const pem = scratch.write("mixed.pem", [above[1], leafPem, above[0]].join(""));
  const bundle = (form: string, name: string) => {
    const out = `${scratch.path}/${name}`;
    openssl(["crl2pkcs7", "-nocrl", "-certfile", pem, "-outform", form, "-out", out]);
    return out;
  };
  for (const file of [bundle("DER", "chain.p7b"), bundle("PEM", "chain.p7c")]) {
    const { asked, code } = await imported(file);
    expect([code, asked[0]?.body]).toEqual([
      0,
      { certificate_pem: leafPem, chain_pem: above.join(""), replace: false },
    ]);
  }
  const alone = { certificate_pem: leafPem, replace: false };
  const der = await imported(scratch.write("leaf.der", leaf));
  expect(der.asked[0]?.body).toEqual(alone);
  const plain = scratch.write("leaf.pem", `Subject: me\n${leafPem}`);
  expect((await imported(plain)).asked[0]?.body).toEqual(alone);
  const chained = await imported(plain, ["--chain", bundle("DER", "chain.p7b")]);
  expect(chained.asked[0]?.body).toMatchObject({ chain_pem: leafPem + above.join("") });
});

test("what is no certificate is left to the server, which says so in its own words", async () => {
  using scratch = scratchDirectory();
  const request = "-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n";
  const sent = await imported(scratch.write("asked.csr", request));
  expect(sent.asked[0]?.body).toMatchObject({ certificate_pem: request });
  const empty = `${scratch.path}/empty.p7b`;
  const none = scratch.write("none.pem", "");
  openssl(["crl2pkcs7", "-nocrl", "-certfile", none, "-outform", "DER", "-out", empty]);
  const refused = await imported(empty);
  expect([refused.code, refused.asked]).toEqual([1, []]);
  expect(refused.stderr).toContain("a bundle without certificates");
});

test("a certificate is validated with the intermediates of a bundle", async () => {
  using scratch = scratchDirectory();
  const out = `${scratch.path}/above.p7b`;
  const pem = scratch.write("above.pem", above.join(""));
  openssl(["crl2pkcs7", "-nocrl", "-certfile", pem, "-outform", "DER", "-out", out]);
  const line = ["cert", "validate", "-", "--ca", "root", "--intermediate", out];
  const { asked } = await shell(line, { stdin: leafPem, answers: () => ({ valid: true }) });
  expect(asked[0]?.body).toEqual({
    ca: "root",
    certificate: leafPem,
    intermediates: above,
    skip_revocation: false,
  });
});
