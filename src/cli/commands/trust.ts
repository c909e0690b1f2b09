/**
 * `pkid trust`: brings a CA to a machine by its fingerprint, and into the stores programs look at.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

import { decodePem, decodePemBlocks, encodePem } from "#core/asn1/pem.ts";
import { DerError } from "#core/asn1/cursor.ts";
import { sha256Hex } from "#core/crypto.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { nameText } from "#core/x509/names.ts";

import { type Args, required, toggle, value, word } from "#cli/args.ts";
import { readCertificates } from "#cli/certificate-files.ts";
import { type Command, command, type Invocation } from "#cli/command.ts";
import { agreed } from "#cli/confirm.ts";
import { Failure, UsageError } from "#cli/failure.ts";
import { isCaCertificate } from "#cli/file-kinds.ts";
import { certificateFingerprint, readFingerprint } from "#cli/fingerprints.ts";
import { secondsOf } from "#cli/open-reach.ts";
import { openOut } from "#cli/out-file.ts";
import { fetchedUntrusted } from "#cli/published.ts";
import { facts } from "#cli/rows.ts";
import { servedPath } from "#cli/served-path.ts";
import {
  type Anchor,
  installInJava,
  installInNss,
  installInSystem,
  type Installed,
} from "#cli/trust-stores.ts";

const installArgs = {
  file: word(),
  system: toggle("Into the store of the operating system, also when no store is named."),
  anchors: value("Directory of that store's own CAs, instead of the usual one.", "dir"),
  nss: toggle("Into the NSS database of this user, which Firefox and Chromium read."),
  "nss-dir": value("Another NSS database.", "dir"),
  java: toggle("Into the CAs of the Java on PATH."),
  keystore: value("Another key store of Java.", "file"),
  name: value("Name of the entry; made of the common name when not given.", "name"),
} as const satisfies Args;

type Install = Invocation<typeof installArgs>;

export const trustVerbs: Readonly<Record<string, Command>> = {
  fetch: command({
    summary: "Fetch a CA certificate that has the fingerprint you were told, and no other.",
    local: true,
    args: {
      address: word(),
      fingerprint: required("SHA-256 of the certificate, in hex, told on another way.", "sha256"),
      out: value("File to write instead of stdout.", "file"),
    },
    run: async ({ args, globals, io, print, note }) => {
      const wanted = readFingerprint(args.fingerprint);
      if (wanted === undefined) throw new UsageError("--fingerprint must be a SHA-256 in hex.");
      const write = openOut(io, args.out, "a CA certificate");
      const timeoutMs = secondsOf("--timeout", globals.timeout) * 1000;
      const shown = await certificatesAt(args.address, timeoutMs);
      const der = shown.find((one) => sha256Hex(one) === wanted);
      if (der === undefined) throw notThere(args.address, shown);
      const certificate = parsed(args.address, der);
      if (!isCaCertificate(certificate)) {
        throw new Failure(
          `The certificate with that fingerprint is ${nameText(certificate.subject)}, and not a CA's.`,
        );
      }
      const pem = encodePem("CERTIFICATE", der);
      const told = { subject: nameText(certificate.subject), sha256: certificateFingerprint(der) };
      if (!globals.json || (args.out !== undefined && args.out !== "-")) write(pem);
      if (globals.json) print({ ...told, certificate: pem }, "");
      note(`${told.subject}, as the fingerprint says.`);
    },
  }),
  install: command({
    summary: "Make programs of this machine trust a CA; it asks first.",
    local: true,
    args: installArgs,
    run: async (invocation) => {
      const { args, globals, io, print } = invocation;
      const pems = await readCertificates(io, args.file);
      const [pem = ""] = pems;
      const der = decodePem(pem, ["CERTIFICATE"]);
      if (der === undefined) throw new Failure(`${args.file} holds no certificate.`);
      const certificate = parsed(args.file, der);
      if (pems.length !== 1 || !isCaCertificate(certificate)) {
        throw new Failure(`${args.file} must hold the certificate of one CA, and nothing else.`);
      }
      const subject = nameText(certificate.subject);
      const digest = certificateFingerprint(der);
      const sentence = `Programs of this machine will believe every certificate below ${subject}, SHA-256 ${digest}.`;
      await agreed(sentence, globals.yes, io);
      const installed = await inStores(invocation, {
        name: args.name ?? entryName(subject),
        pem,
        der,
      });
      const told = { subject, sha256: digest, installed };
      print(told, installed.map((one) => facts({ ...one }, ["store", "where"])).join(""));
    },
  }),
};

async function inStores(
  { args }: Install,
  { name, pem, der }: { readonly name: string; readonly pem: string; readonly der: Uint8Array },
): Promise<readonly Installed[]> {
  if (!/^[A-Za-z0-9][A-Za-z0-9.-]{0,63}$/.test(name)) {
    throw new UsageError("--name must be of letters, digits, dots and dashes.");
  }
  const nss = args.nss || args["nss-dir"] !== undefined;
  const java = args.java || args.keystore !== undefined;
  const system = args.system || args.anchors !== undefined || !(nss || java);
  const folder = mkdtempSync(join(tmpdir(), "pkid-trust-"));
  const file = join(folder, "ca.pem");
  try {
    writeFileSync(file, encodePem("CERTIFICATE", der));
    const anchor: Anchor = { name, pem, file };
    const installed: Installed[] = [];
    if (system) installed.push(await installInSystem(anchor, args.anchors));
    const own = join(homedir(), ".pki", "nssdb");
    if (nss) installed.push(await installInNss(anchor, args["nss-dir"] ?? own));
    if (java) installed.push(await installInJava(anchor, args.keystore));
    return installed;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What is offered is believed only by its fingerprint, so how it comes does not matter. */
async function certificatesAt(address: string, timeoutMs: number): Promise<readonly Uint8Array[]> {
  const url = /^https?:\/\//i.test(address) && URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined) throw new UsageError(`${address} is not an http or https address.`);
  if (url.protocol === "https:" && url.pathname === "/" && url.search === "") {
    return (await servedPath(url, { ca: undefined, timeoutMs })).certificates;
  }
  const octets = await fetchedUntrusted(url.href, { timeoutMs, bytesMax });
  const blocks = decodePemBlocks(new TextDecoder().decode(octets), "CERTIFICATE", blocksMax) ?? [];
  return blocks.length > 0 ? blocks : [octets];
}

function notThere(address: string, shown: readonly Uint8Array[]): Failure {
  const digests = shown.map((der) => `  ${certificateFingerprint(der)}`).join("\n");
  const sentence = `${address} shows no certificate with that fingerprint, but\n${digests}\nNothing was written. Either the fingerprint is wrong, or somebody stands in between.`;
  return new Failure(sentence, "fingerprint_mismatch");
}

function parsed(where: string, der: Uint8Array): ParsedCertificate {
  try {
    return parseCertificate(der);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new Failure(`The certificate at ${where} is malformed: ${error.message}.`);
  }
}

const entryName = (subject: string): string =>
  `pkid-${(/CN=([^,]*)/.exec(subject)?.[1] ?? "ca").replace(/[^A-Za-z0-9.-]+/g, "-").slice(0, 50)}`;

const bytesMax = 1_048_576;
const blocksMax = 100;
