/** `pkid import`: goes on where another CA ends, under its key and its name. */

import { join } from "node:path";

import { decodePem } from "#core/asn1/pem.ts";
import { DerError } from "#core/asn1/cursor.ts";
import type { RecordSource } from "#core/foreign-ca/records.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import {
  type Args,
  type Given,
  many,
  number,
  required,
  tenantArg,
  toggle,
  value,
  word,
} from "#cli/args.ts";
import { readCertificates } from "#cli/certificate-files.ts";
import { type Command, command, type Invocation } from "#cli/command.ts";
import { Failure, UsageError } from "#cli/failure.ts";
import { columns, facts } from "#cli/rows.ts";
import { type ForeignList, listEntries, readList } from "#cli/imports/lists.ts";
import { crlNumberIn, indexEntries, type Layout, layouts } from "#cli/imports/openssl.ts";
import { type Placed, recordsOf } from "#cli/imports/pieces.ts";
import { readCaKey } from "#cli/imports/private-key.ts";
import { runImport } from "#cli/imports/run.ts";
import { existsSync } from "node:fs";

const shared = {
  label: required("What the CA is called here, 1 to 64 of A-Z a-z 0-9 . _ -", "label"),
  chain: value("File of the certificates above it; a root has none.", "file"),
  "key-passphrase-file": value("File with the passphrase of the key, - for stdin.", "file"),
  "key-label": value("Label of the key on the PKCS#11 token, where it stays.", "label"),
  crl: many("CRL of the CA; its entries and its number are taken over.", "file"),
  "crl-number": number("Highest number any CRL of the CA has had.", "n"),
  profile: value("Profile of every certificate; by its usages when not given.", "profile"),
  tenant: tenantArg,
  "dry-run": toggle("Say what would be taken over and refused, and change nothing."),
  "skip-refused": toggle("Go on without what is refused; else the CA waits."),
  report: value("New file that tells what became of each entry, a JSON object a line.", "file"),
} as const satisfies Args;

const keyFile = "File of its private key: PKCS#8, PKCS#1, SEC 1 or PKCS#12.";

export const importVerbs: Readonly<Record<string, Command>> = {
  openssl: fromLayout("Go on where `openssl ca` ends: index, certificates, key.", layouts.openssl),
  easyrsa: fromLayout("Go on where EasyRSA ends: the directory pki.", layouts.easyrsa),
  "step-ca": fromExport("Go on where step-ca ends: its tables, a JSON object a key.", "step-ca"),
  cfssl: fromExport("Go on where cfssl ends: its table certificates, CSV or JSON.", "cfssl"),
  vault: fromExport("Go on where Vault or OpenBao ends: answers of pki/cert.", "vault"),
  ejbca: fromExport("Go on where EJBCA ends: its table CertificateData, CSV or JSON.", "ejbca"),
};

function fromLayout(summary: string, layout: Layout): Command {
  return {
    ...command({
      summary,
      args: {
        directory: word(),
        ...shared,
        "ca-cert": value(`Its certificate; ${layout.caCertificate} when not given.`, "file"),
        "ca-key": value(`${keyFile} ${layout.caKey} when it is there.`, "file"),
        certs: many(
          `Directory of certificates by serial; ${layout.certificates.join(", ")} when not given.`,
          "dir",
        ),
      },
      run: async (invocation) => {
        const { args } = invocation;
        const inside = (name: string) => join(args.directory, name);
        const index = inside(layout.index);
        const its = args.certs.length > 0 ? args.certs : layout.certificates.map(inside);
        const own = inside(layout.caKey);
        const elsewhere = args["ca-key"] !== undefined || args["key-label"] !== undefined;
        const list = layout.crl === undefined ? undefined : inside(layout.crl);
        return await run(invocation, {
          certificate: args["ca-cert"] ?? inside(layout.caCertificate),
          key: args["ca-key"] ?? (!elsewhere && existsSync(own) ? own : undefined),
          lists: list !== undefined && existsSync(list) ? [list, ...args.crl] : args.crl,
          crlNumber: crlNumberIn(inside(layout.crlNumber)),
          entries: () => indexEntries(index, its, layout.extensions),
        });
      },
    }),
    local: true,
  };
}

function fromExport(summary: string, source: RecordSource): Command {
  return {
    ...command({
      summary,
      args: {
        file: word(),
        ...shared,
        "ca-cert": required("Its certificate.", "file"),
        "ca-key": value(keyFile, "file"),
      },
      run: async (invocation) => {
        const { args } = invocation;
        return await run(invocation, {
          certificate: args["ca-cert"],
          key: args["ca-key"],
          lists: args.crl,
          crlNumber: 0n,
          entries: () => recordsOf(source, args.file),
        });
      },
    }),
    local: true,
  };
}

/** Where everything is. */
interface Found {
  readonly certificate: string;
  readonly key: string | undefined;
  readonly lists: readonly string[];
  readonly crlNumber: bigint;
  readonly entries: () => Iterable<Placed>;
}

async function run(
  { args, globals, client, io, deps, print, note }: Invocation<Args & typeof shared>,
  found: Found,
): Promise<number> {
  const given: Given<typeof shared> = args;
  if (given["key-label"] !== undefined && found.key !== undefined) {
    throw new UsageError("--ca-key and --key-label exclude each other.");
  }
  const certificate = await caCertificateIn(io, found.certificate);
  const chain = given.chain === undefined ? [] : await readCertificates(io, given.chain);
  const lists: ForeignList[] = [];
  for (const file of found.lists) lists.push(await readList(io, file, certificate));
  const numbers = lists.map(({ opened }) => BigInt(opened.number ?? 0));
  const crlNumber = highest([found.crlNumber, BigInt(given["crl-number"] ?? 0), ...numbers]);
  const label = given["key-label"];
  const key =
    label === undefined
      ? found.key === undefined
        ? undefined
        : await readCaKey(io, found.key, given["key-passphrase-file"])
      : { label };
  const entries = function* () {
    yield* found.entries();
    for (const list of lists) yield* listEntries(list);
  };
  const plan = {
    label: given.label,
    tenant: given.tenant,
    certificate,
    chain: chain.join(""),
    key,
    profile: given.profile,
    crlNumber,
    entries: entries(),
  };
  const dryRun = given["dry-run"];
  const skipRefused = given["skip-refused"];
  const ways = { dryRun, skipRefused, report: given.report, quiet: globals.quiet };
  const done = await runImport({ client, io, deps, note }, plan, ways);
  const { ca, refusals, ...counts } = done;
  const refused = refusals.length === 0 ? "" : `\n${columns(refusals, refusalKeys)}`;
  print(done, facts({ ...ca, ...counts }, countKeys) + refused);
  const waits = done.refused > 0 && !skipRefused;
  if (waits && !dryRun) {
    note("The CA waits: mend what is refused and repeat, or give --skip-refused.");
  }
  return waits ? 1 : 0;
}

async function caCertificateIn(
  io: Parameters<typeof readCertificates>[0],
  file: string,
): Promise<ParsedCertificate> {
  const [pem = ""] = await readCertificates(io, file);
  const der = decodePem(pem, ["CERTIFICATE"]);
  if (der === undefined) throw new Failure(`${file} holds no certificate.`);
  try {
    return parseCertificate(der);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new Failure(`${file} holds a certificate that is malformed: ${error.message}.`);
  }
}

/** RFC 5280 §5.2.3 lets numbers have 20 octets; what cannot be counted on here is refused. */
function highest(numbers: readonly bigint[]): number {
  const [number = 0n] = [...numbers].sort((a, b) => (a < b ? 1 : -1));
  if (number <= numberMax) return Number(number);
  throw new Failure(`The CRL number ${number} is too large to go on from: at most ${numberMax}.`);
}

const countKeys = [
  "id",
  "label",
  "status",
  "dry_run",
  "crl_number",
  "read",
  "imported",
  "present",
  "revoked",
  "entered",
  "refused",
] as const;
const refusalKeys = ["place", "serial", "reason"] as const;
const numberMax = 9_000_000_000_000_000n;
