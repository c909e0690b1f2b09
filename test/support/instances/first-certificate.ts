/**
 * The path every newcomer walks, for any key provider: root, intermediate, certificate, CRL, OCSP,
 * revocation.
 */

import { expect } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import type { Instance } from "./instance.ts";
import { newCsr, openssl, saved, type subscriberKeys } from "./relying-party.ts";

export interface Chain {
  readonly folder: string;
  readonly root: string;
  readonly intermediate: string;
  readonly intermediateId: string;
}

/**
 * Creates root and intermediate by the command line and saves their certificates.
 *
 * @param validityDays validity of the intermediate; the root is valid ten days longer
 */
export async function createChain(
  instance: Instance,
  keyType: string,
  label = keyType,
  validityDays?: number,
): Promise<Chain> {
  const folder = join(instance.home, label);
  mkdirSync(folder, { recursive: true });
  const subject = ["--key-type", keyType, "--o", "Example"];
  const validity = (days: number) =>
    validityDays === undefined ? [] : ["--validity-days", String(validityDays + days)];
  const root = await command(instance, [
    "ca",
    "init-root",
    "--label",
    `root-${label}`,
    "--cn",
    `Root ${label}`,
    ...subject,
    ...validity(10),
  ]);
  const issuing = await command(instance, [
    "ca",
    "issue-intermediate",
    "--parent",
    `root-${label}`,
    "--label",
    `issuing-${label}`,
    "--cn",
    `Issuing ${label}`,
    ...subject,
    ...validity(0),
  ]);
  return {
    folder,
    root: saved(folder, "root.pem", String(root.certificate)),
    intermediate: saved(folder, "issuing.pem", String(issuing.certificate)),
    intermediateId: String(issuing.id),
  };
}

/**
 * Issues by the command line for a CSR openssl made, and has openssl verify path, CRLs and OCSP
 * before and after.
 */
export async function walkCertificate(
  instance: Instance,
  chain: Chain,
  subscriber: keyof typeof subscriberKeys,
): Promise<void> {
  const name = `${subscriber}.example.test`;
  const label = chain.folder.split("/").at(-1);
  await newCsr(chain.folder, name, subscriber);
  const issued = await command(instance, [
    "cert",
    "issue",
    "--ca",
    `issuing-${label}`,
    "--csr",
    join(chain.folder, `${name}.csr`),
  ]);
  const leaf = saved(chain.folder, `${name}.pem`, String(issued.certificate));
  await verifies(instance, chain, leaf);
  expect(await ocsp(instance, chain, leaf)).toContain(`${leaf}: good`);
  const serial = String(issued.serial);
  await command(instance, [
    "revoke",
    "cert",
    "--ca",
    `issuing-${label}`,
    serial,
    "--reason",
    "keyCompromise",
  ]);
  const answer = await ocsp(instance, chain, leaf);
  expect(answer).toContain(`${leaf}: revoked`);
  expect(answer).toContain("Reason: keyCompromise");
  const after = await verify(instance, chain, leaf);
  expect(after.code).not.toBe(0);
  expect(after.text).toContain("certificate revoked");
}

async function verifies(instance: Instance, chain: Chain, leaf: string): Promise<void> {
  const verdict = await verify(instance, chain, leaf);
  expect(verdict.text).toContain(`${leaf}: OK`);
}

/** `openssl verify -crl_check_all` with the CRLs of both CAs as the server publishes them now. */
async function verify(instance: Instance, chain: Chain, leaf: string) {
  const label = chain.folder.split("/").at(-1);
  const crls: string[] = [];
  for (const [ca, issuer] of [
    [`root-${label}`, chain.root],
    [`issuing-${label}`, chain.intermediate],
  ] as const) {
    const file = join(chain.folder, `${ca}.crl`);
    // A key compromise is published at once, after the acknowledgement.
    await command(instance, ["crl", "publish", "--ca", ca]);
    expect((await instance.cli("crl", "get", "--ca", ca, "--out", file)).code).toBe(0);
    const checked = await openssl(["crl", "-in", file, "-CAfile", issuer, "-noout"]);
    expect(checked.text).toContain("verify OK");
    crls.push("-CRLfile", file);
  }
  return openssl(
    [
      "verify",
      "-x509_strict",
      "-crl_check_all",
      ...crls,
      "-CAfile",
      chain.root,
      "-untrusted",
      chain.intermediate,
      leaf,
    ],
    { mustPass: false },
  );
}

async function ocsp(instance: Instance, chain: Chain, leaf: string): Promise<string> {
  const { text } = await openssl([
    "ocsp",
    "-issuer",
    chain.intermediate,
    "-cert",
    leaf,
    "-CAfile",
    chain.root,
    "-verify_other",
    chain.intermediate,
    "-resp_text",
    "-url",
    `${instance.publicUrl}/api/ca/${chain.intermediateId}/ocsp`,
  ]);
  expect(text).toContain("Response verify OK");
  return text;
}

/**
 * Runs one command with `--json` and gives its document; fails the test with the error text
 * otherwise.
 */
export async function command(
  instance: Instance,
  args: readonly string[],
): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await instance.cli(...args, "--json");
  if (code !== 0) throw new Error(`pkid ${args.join(" ")} exited ${code}: ${stderr}`);
  return JSON.parse(stdout);
}
