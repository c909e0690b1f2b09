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
  readonly rootId: string;
  readonly intermediateId: string;
}

/** A CA as the server returns it after its creation. */
interface CreatedCa {
  readonly id: string;
  readonly certificate: string;
}

/** Operations that walk a certificate from its issue to its revocation. */
interface Steps {
  /** Issues for the CSR in a file. */
  issue(csrFile: string): Promise<{ readonly certificate: string; readonly serial: string }>;
  revoke(serial: string): Promise<unknown>;
  /** Publishes the CRL of the root or the intermediate and writes it to a file. */
  saveCrl(ca: "root" | "issuing", file: string): Promise<void>;
}

/**
 * Creates root and intermediate through the admin socket and saves their certificates.
 *
 * @param validityDays validity of the intermediate; the root is valid ten days longer
 */
export async function createChain(
  instance: Instance,
  keyType: string,
  label = keyType,
  validityDays?: number,
): Promise<Chain> {
  const request = (prefix: string, title: string, moreDays: number) => ({
    label: `${prefix}-${label}`,
    subject: { cn: `${title} ${label}`, o: "Example" },
    key_type: keyType,
    validity_days: validityDays === undefined ? undefined : validityDays + moreDays,
  });
  const create = (path: string, body: object) => instance.admin<CreatedCa>("POST", path, body);
  const root = await create("/api/ca/init-root", request("root", "Root", 10));
  const below = `/api/ca/${root.id}/issue-intermediate`;
  const issuing = await create(below, request("issuing", "Issuing", 0));
  return saveChain(instance, label, { root, issuing });
}

/** Creates the same chain by the command line. */
export async function createChainByCommands(instance: Instance, keyType: string): Promise<Chain> {
  const create = async (verb: readonly string[], prefix: string, title: string) => {
    const names = ["--label", `${prefix}-${keyType}`, "--cn", `${title} ${keyType}`];
    const subject = ["--key-type", keyType, "--o", "Example"];
    const ca = await command(instance, ["ca", ...verb, ...names, ...subject]);
    return { id: String(ca.id), certificate: String(ca.certificate) };
  };
  const root = await create(["init-root"], "root", "Root");
  const parent = ["--parent", `root-${keyType}`];
  const issuing = await create(["issue-intermediate", ...parent], "issuing", "Issuing");
  return saveChain(instance, keyType, { root, issuing });
}

function saveChain(
  instance: Instance,
  label: string,
  { root, issuing }: Readonly<Record<"root" | "issuing", CreatedCa>>,
): Chain {
  const folder = join(instance.home, label);
  mkdirSync(folder, { recursive: true });
  return {
    folder,
    root: saved(folder, "root.pem", root.certificate),
    intermediate: saved(folder, "issuing.pem", issuing.certificate),
    rootId: root.id,
    intermediateId: issuing.id,
  };
}

/**
 * Issues through the admin socket for a CSR of openssl, and has openssl verify path, CRLs and OCSP
 * before and after the revocation.
 */
export const walkCertificate = (
  instance: Instance,
  chain: Chain,
  subscriber: keyof typeof subscriberKeys,
): Promise<void> => walk(instance, chain, { subscriber, steps: socketSteps(instance, chain) });

/** Walks the same path by the command line. */
export const walkCertificateByCommands = (
  instance: Instance,
  chain: Chain,
  subscriber: keyof typeof subscriberKeys,
): Promise<void> => walk(instance, chain, { subscriber, steps: commandSteps(instance, chain) });

/** Subscriber and operations of a walk. */
interface Walk {
  readonly subscriber: keyof typeof subscriberKeys;
  readonly steps: Steps;
}

async function walk(instance: Instance, chain: Chain, { subscriber, steps }: Walk): Promise<void> {
  const name = `${subscriber}.example.test`;
  await newCsr(chain.folder, name, subscriber);
  const issued = await steps.issue(join(chain.folder, `${name}.csr`));
  const leaf = saved(chain.folder, `${name}.pem`, issued.certificate);
  const before = await verify(steps, chain, leaf);
  expect(before.text).toContain(`${leaf}: OK`);
  expect(await ocsp(instance, chain, leaf)).toContain(`${leaf}: good`);
  await steps.revoke(issued.serial);
  const answer = await ocsp(instance, chain, leaf);
  expect(answer).toContain(`${leaf}: revoked`);
  expect(answer).toContain("Reason: keyCompromise");
  const after = await verify(steps, chain, leaf);
  expect(after.code).not.toBe(0);
  expect(after.text).toContain("certificate revoked");
}

function socketSteps(instance: Instance, { rootId, intermediateId }: Chain): Steps {
  const path = `/api/ca/${intermediateId}`;
  return {
    issue: async (file) =>
      instance.admin("POST", `${path}/issue`, { csr: await Bun.file(file).text() }),
    revoke: (serial) =>
      instance.admin("POST", `${path}/revoke`, { serial, reason: "keyCompromise" }),
    saveCrl: async (ca, file) => {
      const id = ca === "root" ? rootId : intermediateId;
      await instance.admin("POST", `/api/ca/${id}/crl:publish`);
      const list = await instance.fetch(`/api/ca/${id}/crl`);
      expect(list.status).toBe(200);
      await Bun.write(file, await list.bytes());
    },
  };
}

function commandSteps(instance: Instance, { folder }: Chain): Steps {
  const label = folder.split("/").at(-1);
  const issuing = ["--ca", `issuing-${label}`];
  return {
    issue: async (file) => {
      const issued = await command(instance, ["cert", "issue", ...issuing, "--csr", file]);
      return { certificate: String(issued.certificate), serial: String(issued.serial) };
    },
    revoke: (serial) =>
      command(instance, ["revoke", "cert", ...issuing, serial, "--reason", "keyCompromise"]),
    saveCrl: async (ca, file) => {
      await command(instance, ["crl", "publish", "--ca", `${ca}-${label}`]);
      const list = await instance.cli("crl", "get", "--ca", `${ca}-${label}`, "--out", file);
      expect(list.code).toBe(0);
    },
  };
}

/** `openssl verify -crl_check_all` with the CRLs of both CAs as the server publishes them now. */
async function verify(steps: Steps, chain: Chain, leaf: string) {
  const crls: string[] = [];
  for (const [ca, issuer] of [
    ["root", chain.root],
    ["issuing", chain.intermediate],
  ] as const) {
    const file = join(chain.folder, `${ca}.crl`);
    // A key compromise is published at once, after the acknowledgement.
    await steps.saveCrl(ca, file);
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
