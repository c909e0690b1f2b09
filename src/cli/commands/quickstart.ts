/** `pkid quickstart`: from nothing to a served certificate authority with one checked certificate. */

import { existsSync } from "node:fs";
import { resolve } from "node:path";

import { DerError } from "#core/asn1/cursor.ts";
import { parseSerial } from "#core/ids.ts";
import { parseCrl } from "#core/x509/crl.ts";

import { type Args, unless, value, valueOr } from "#cli/args.ts";
import type { Client } from "#cli/client.ts";
import { command, type Invocation } from "#cli/command.ts";
import { Failure } from "#cli/failure.ts";
import { readTextArgument, writeFile } from "#cli/io.ts";
import { newRequest } from "#cli/new-request.ts";
import { issuerFrom } from "#cli/issuer-certificate.ts";
import { verifies } from "#core/x509/ocsp-verdict.ts";
import { loadedConfig, readHere, refuseElsewhere, serveRequest } from "#cli/open-reach.ts";
import { type Row, rowsAt, textAt } from "#cli/rows.ts";
import { writeConfiguration } from "./init.ts";
import { checkStatus } from "./ocsp.ts";

const args = {
  org: valueOr("Organization in the names of the CAs.", "name", "Example"),
  "public-url": value("Base address this service is reached under.", "url"),
  issue: valueOr("Host name or address of the first certificate.", "name", "localhost"),
  csr: value("Request to use instead of a new key.", "file"),
  serve: unless("Do not start the server afterwards."),
} as const satisfies Args;

export const quickstart = command({
  summary: "Configure, create root and issuing CA, issue and check one certificate, then serve.",
  local: true,
  founds: true,
  args,
  run: async (invocation) => {
    const { args, globals, io, deps, client, note, print } = invocation;
    refuseElsewhere(globals, io);
    // 1. A configuration, unless there is one.
    ensureConfiguration(invocation);
    // 2. Root and issuing CA, unless an earlier run made them.
    const root = await ensureCa(client, "root", (body) => client.ask("ca.init_root", { body }), {
      ...{ subject: { cn: `${args.org} Root CA`, o: args.org }, key_type: "ecdsa-p384" },
    });
    note(`Root CA ${textAt(root, "label")} (${textAt(root, "id")}).`);
    const below = { id: textAt(root, "id") };
    const issuing = await ensureCa(
      client,
      "issuing-1",
      (body) => client.ask("ca.issue_intermediate", { path: below, body }),
      { subject: { cn: `${args.org} Issuing CA 1`, o: args.org }, key_type: "ecdsa-p256" },
    );
    note(`Issuing CA ${textAt(issuing, "label")} (${textAt(issuing, "id")}).`);
    // 3. One certificate.
    const files = await firstCertificate(invocation, textAt(issuing, "id"));
    note(`Certificate for ${args.issue}: ${files.certificate}.`);
    // 4. The checks a relying party makes.
    for (const ca of [root, issuing]) await checkCrl(client, textAt(ca, "id"));
    await checkOcsp(invocation, textAt(issuing, "id"), files.serial);
    note("CRLs verify, OCSP says good.");
    // 5. What to do next, then the server.
    const result = { root, issuing, ...files };
    print(result, nextSteps(files, textAt(issuing, "id"), publicUrl(invocation)));
    await client.close();
    if (!args.serve) return 0;
    return deps.serve({ ...serveRequest(globals, io), migrate: false, foundAnew: false });
  },
});

type Quickstart = Invocation<typeof args>;

function ensureConfiguration({ args, globals, io, note }: Quickstart): void {
  const file = readHere(globals, io).fileName ?? "pkid.yaml";
  if (existsSync(file)) return;
  const data_dir = resolve(globals["data-dir"] ?? io.env.PKID_DATA_DIR ?? "pkid-data");
  const url = args["public-url"];
  const preset = { data_dir, ...(url === undefined ? {} : { "server.public_url": url }) };
  writeConfiguration(file, preset, false);
  note(`Wrote ${file}.`);
}

async function ensureCa(
  client: Client,
  label: string,
  create: (body: Record<string, unknown>) => Promise<Row>,
  body: Record<string, unknown>,
): Promise<Row> {
  const cas = rowsAt(await client.list("ca.list", { query: { limit: 500 } }, true), "items");
  const found = cas.find((ca) => textAt(ca, "label") === label);
  return found ?? create({ label, ...body });
}

interface Files {
  readonly serial: string;
  readonly certificate: string;
  readonly chain: string;
  readonly key?: string;
}

async function firstCertificate({ args, io, client }: Quickstart, id: string): Promise<Files> {
  const stem = args.issue.replace(/[^A-Za-z0-9.-]/g, "_");
  const made = args.csr === undefined ? newRequest(args.issue) : undefined;
  const csr = made?.csr ?? (await readTextArgument(io, args.csr ?? "-"));
  const issued = await client.ask("cert.issue", { path: { id }, body: { csr } });
  const files = {
    serial: textAt(issued, "serial"),
    certificate: `${stem}.pem`,
    chain: "chain.pem",
    ...(made === undefined ? {} : { key: `${stem}.key` }),
  };
  if (made !== undefined) writeFile(`${stem}.key`, made.key, 0o600);
  writeFile(files.certificate, textAt(issued, "chain"), 0o644);
  writeFile(files.chain, await client.fetch("ca.chain", { path: { id } }), 0o644);
  return files;
}

/** Fetches the CRL and verifies it under the CA; fails when a relying party would not accept it. */
async function checkCrl(client: Client, id: string): Promise<void> {
  await client.ask("crl.publish", { path: { id } });
  const issuer = issuerFrom(await client.fetch("ca.certificate", { path: { id } }));
  try {
    const crl = parseCrl(await client.fetch("crl.read", { path: { id } }));
    if (verifies(issuer.spki, crl.signatureName, crl.tbs, crl.signature)) return;
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
  }
  throw new Failure("The CRL does not verify.", "crl_untrusted");
}

async function checkOcsp(invocation: Quickstart, id: string, serial: string): Promise<void> {
  const about = { id, serial: parseSerial(serial), nonce: true };
  const verdict = await checkStatus(invocation, about);
  if (verdict.trusted && verdict.status === "good") return;
  const sentence = `OCSP does not say good: ${verdict.fault ?? verdict.status}`;
  throw new Failure(sentence, "ocsp_untrusted");
}

function publicUrl({ globals, io }: Quickstart): string {
  const { server } = loadedConfig(globals, io).config;
  return server.public_url ?? `https://localhost:${server.port}`;
}

function nextSteps(files: Files, id: string, url: string): string {
  return `Next:
  pkid cert show --ca issuing-1 ${files.serial}
  openssl x509 -in ${files.certificate} -noout -text
  openssl verify -CAfile ${files.chain} -untrusted ${files.chain} ${files.certificate}
  openssl ocsp -issuer ${files.chain} -cert ${files.certificate} -CAfile ${files.chain} -url ${url}/api/ca/${id}/ocsp
  pkid revoke cert --ca issuing-1 ${files.serial} --reason superseded
`;
}
