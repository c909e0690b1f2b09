/**
 * `pkid quickstart`: from nothing to a served certificate authority with one checked certificate.
 */

import { existsSync } from "node:fs";
import type { KeyObject } from "node:crypto";
import { basename, resolve } from "node:path";

import { DerError } from "#core/asn1/cursor.ts";
import { parseSerial } from "#core/ids.ts";
import { parseCrl } from "#core/x509/crl.ts";

import { type Args, unless, value } from "#cli/args.ts";
import type { Answer, Client } from "#cli/client.ts";
import { command, type Invocation } from "#cli/command.ts";
import { Failure, UsageError } from "#cli/failure.ts";
import { portsMustBeFree } from "#cli/free-ports.ts";
import { readTextArgument } from "#cli/io.ts";
import { keyIn } from "#cli/key-files.ts";
import { writeKeyFile } from "#cli/new-key-file.ts";
import { newKey, requestFor } from "#cli/new-request.ts";
import { issuerFrom } from "#cli/issuer-certificate.ts";
import { verifies } from "#core/x509/ocsp-verdict.ts";
import { loadedConfig, readHere, refuseElsewhere, serveRequest } from "#cli/open-reach.ts";
import { type Out, outFile } from "#cli/out-file.ts";
import { publicUrlSettings } from "#cli/public-url.ts";
import { type ItemIn, rowsAt, textAt } from "#cli/rows.ts";
import { writeConfiguration } from "./init.ts";
import { checkStatus } from "./ocsp.ts";

const args = {
  org: value("Organization in the names of the CAs; Example when not given.", "name"),
  "public-url": value("Base address this service is reached under.", "url"),
  issue: value("Host name or address of the first certificate; localhost when not given.", "name"),
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
    if (args.csr !== undefined && args.issue !== undefined) {
      throw new UsageError("Only one of --issue and --csr may be given.");
    }
    const org = args.org ?? "Example";
    // 1. Where the files go, and a configuration, unless there is one.
    const files = placesOf(args.issue ?? "localhost", args.csr);
    await ensureConfiguration(invocation);
    // 2. Root and issuing CA, unless an earlier run made them.
    const root = await ensureCa(client, "root", (as) => client.ask("ca.init_root", as), {
      subject: { cn: `${org} Root CA`, o: org },
      key_type: "ecdsa-p384",
    });
    if (args.org !== undefined) mustBeOf(root, org);
    note(`Root CA ${textAt(root, "label")} (${textAt(root, "id")}).`);
    const id = textAt(root, "id");
    const issuing = await ensureCa(
      client,
      "issuing-1",
      (as) => client.ask("ca.issue_intermediate", { id, ...as }),
      { subject: { cn: `${org} Issuing CA 1`, o: org }, key_type: "ecdsa-p256" },
    );
    note(`Issuing CA ${textAt(issuing, "label")} (${textAt(issuing, "id")}).`);
    // 3. One certificate.
    const made = await firstCertificate(invocation, files, textAt(issuing, "id"));
    note(`Certificate for ${args.issue ?? args.csr ?? "localhost"}: ${made.certificate}.`);
    // 4. The checks a relying party makes.
    for (const ca of [root, issuing]) await checkCrl(client, textAt(ca, "id"));
    await checkOcsp(invocation, textAt(issuing, "id"), made.serial);
    note("CRLs verify, OCSP says good.");
    // 5. What to do next, then the server.
    const result = { root, issuing, ...made };
    print(result, nextSteps(made, textAt(issuing, "id"), ocspBase(invocation)));
    await client.close();
    if (!args.serve) return 0;
    return deps.serve({ ...serveRequest(globals, io), migrate: false, foundAnew: false });
  },
});

type Quickstart = Invocation<typeof args>;

/** Nothing is written while a listener could not be opened. */
async function ensureConfiguration({ args, globals, io, note }: Quickstart): Promise<void> {
  const settings = publicUrlSettings(args["public-url"]);
  const file = readHere(globals, io).fileName ?? "pkid.yaml";
  if (existsSync(file)) {
    const { config } = loadedConfig(globals, io);
    if (args.serve) await portsMustBeFree(config, io.env);
    const { server, crl } = config;
    const url = args["public-url"];
    if (url === undefined || url === server.public_url || url === crl.base_url) return;
    throw new UsageError(
      `${file} exists, and --public-url changes nothing in it. Edit it instead.`,
    );
  }
  if (args.serve) await portsMustBeFree(loadedConfig(globals, io, settings).config, io.env);
  const data_dir = resolve(globals["data-dir"] ?? io.env.PKID_DATA_DIR ?? "pkid-data");
  writeConfiguration(file, { ...settings, data_dir }, false);
  note(`Wrote ${file}.`);
}

/**
 * An organization that was asked for and is not the one of the root that was found is not passed
 * over.
 */
function mustBeOf(root: Ca, org: string): void {
  const subject = textAt(root, "subject");
  if (subject === "" || subject.split(",").includes(`O=${org}`)) return;
  throw new UsageError(`The root is ${subject}, made earlier; --org changes nothing in it.`);
}

type Ca = ItemIn<Answer<"ca.list">, "items">;

/** What a CA made here is asked for, beside its label. */
type FoundedCa = {
  readonly subject: { readonly cn: string; readonly o: string };
  readonly key_type: string;
};

async function ensureCa(
  client: Client,
  label: string,
  create: (as: FoundedCa & { readonly label: string }) => Promise<Ca>,
  as: FoundedCa,
): Promise<Ca> {
  const cas = rowsAt(await client.list("ca.list", { limit: 500 }, true), "items");
  const found = cas.find((ca) => textAt(ca, "label") === label);
  return found ?? create({ label, ...as });
}

interface Files {
  readonly serial: string;
  readonly certificate: string;
  readonly chain: string;
  readonly key?: string;
}

/** Where the results go, looked at before anything is made. */
interface Places {
  readonly name: string;
  readonly certificate: { readonly file: string; readonly write: Out };
  readonly chain: { readonly file: string; readonly write: Out };
  /** The key that is there already is used, and never replaced. */
  readonly key:
    | { readonly file: string; readonly made: KeyObject; readonly isNew: boolean }
    | undefined;
}

function placesOf(name: string, csr: string | undefined): Places {
  const of = csr === undefined ? name : csr === "-" ? "certificate" : basename(csr, ".csr");
  const stem = of.replace(/[^A-Za-z0-9.-]/g, "_");
  const chain = "chain.pem";
  // A host called chain has a certificate of its own.
  const certificate = stem === "chain" ? "certificate.pem" : `${stem}.pem`;
  return {
    name,
    certificate: { file: certificate, write: outFile(certificate, "a certificate", 0o644) },
    chain: { file: chain, write: outFile(chain, "a CA certificate", 0o644) },
    key: csr === undefined ? keyPlace(`${stem}.key`) : undefined,
  };
}

function keyPlace(file: string): Places["key"] {
  if (existsSync(file)) return { file, made: keyIn(file), isNew: false };
  return { file, made: newKey("ecdsa-p256"), isNew: true };
}

async function firstCertificate(
  { args, io, client }: Quickstart,
  { name, certificate, chain, key }: Places,
  id: string,
): Promise<Files> {
  const csr =
    key === undefined ? await readTextArgument(io, args.csr ?? "-") : requestFor(key.made, [name]);
  if (key?.isNew === true) writeKeyFile(key.file, key.made);
  const issued = await client.ask("cert.issue", { id, csr });
  certificate.write(textAt(issued, "chain"));
  chain.write(await client.fetch("ca.chain", { id }));
  const files = { certificate: certificate.file, chain: chain.file };
  const serial = textAt(issued, "serial");
  return key === undefined ? { serial, ...files } : { serial, ...files, key: key.file };
}

/** Fetches the CRL and verifies it under the CA; fails when a relying party would not accept it. */
async function checkCrl(client: Client, id: string): Promise<void> {
  await client.ask("crl.publish", { id });
  const issuer = issuerFrom(await client.fetch("ca.certificate", { id }));
  try {
    const crl = parseCrl(await client.fetch("crl.read", { id }));
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

/** Where OCSP is asked: in clear where that is served. */
function ocspBase({ globals, io }: Quickstart): string {
  const { server, crl } = loadedConfig(globals, io).config;
  const served = server.public_http.enabled ? crl.base_url : server.public_url;
  return served ?? `https://localhost:${server.port}`;
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
