/**
 * `pkid cert export`: puts a key and its certificates into the store that Java, Windows and
 * browsers take.
 */

import { X509Certificate } from "node:crypto";

import { decodePem } from "#core/asn1/pem.ts";

import { type Args, required, toggle, value, word } from "#cli/args.ts";
import { readCertificates } from "#cli/certificate-files.ts";
import { type Command, command } from "#cli/command.ts";
import { Failure, UsageError } from "#cli/failure.ts";
import { type Io, readTextArgument } from "#cli/io.ts";
import { keyIn } from "#cli/key-files.ts";
import { outFile } from "#cli/out-file.ts";
import { encodePkcs12 } from "#cli/pkcs12.ts";

const args = {
  file: word(),
  key: required("PEM file of the key of the certificate, without a passphrase.", "file"),
  chain: value("File of the certificates above it, beside those that follow it.", "file"),
  out: required("File of the store; an earlier store is replaced.", "file"),
  "passphrase-file": required("File with the passphrase of the store, - for stdin.", "file"),
  name: value("Name of the entry; the common name when not given.", "name"),
  pkcs12: toggle("Write PKCS#12 as today's tools read it; also what is written without a word."),
  "jks-compatible": toggle("Write PKCS#12 that Java before 8u301 reads too: triple DES, SHA-1."),
} as const satisfies Args;

/** Everything stays on this machine; the store is for its owner only. */
export const certExport: Command = command({
  summary: "Put a certificate, its path and its key into a PKCS#12 store.",
  local: true,
  args,
  run: async ({ args: given, io, print, note }) => {
    if (given.pkcs12 && given["jks-compatible"]) {
      throw new UsageError("Only one of --pkcs12 and --jks-compatible may be given.");
    }
    const write = outFile(given.out, "a PKCS#12 store", 0o600);
    const own = await readCertificates(io, given.file);
    const above = given.chain === undefined ? [] : await readCertificates(io, given.chain);
    const certificates = [...own, ...above].map((pem) => derOf(given.file, pem));
    const leaf = new X509Certificate(certificates[0] ?? new Uint8Array());
    const key = keyIn(given.key);
    if (!leaf.checkPrivateKey(key)) {
      throw new Failure(
        `The key in ${given.key} does not belong to the certificate in ${given.file}.`,
      );
    }
    const passphrase = await passphraseFrom(io, given["passphrase-file"]);
    const contents = {
      key: new Uint8Array(key.export({ format: "der", type: "pkcs8" })),
      certificates: distinct(certificates),
      friendlyName: given.name ?? commonName(leaf),
    };
    write(encodePkcs12(contents, passphrase, given["jks-compatible"] ? "3des" : "aes-256"));
    const told = {
      out: given.out,
      name: contents.friendlyName,
      certificates: contents.certificates.length,
    };
    print(told, "");
    note(`${given.out}: the key, and ${told.certificates} certificates, as ${told.name}.`);
  },
});

function derOf(file: string, pem: string): Uint8Array {
  const der = decodePem(pem, ["CERTIFICATE"]);
  try {
    return new Uint8Array(new X509Certificate(der ?? new Uint8Array()).raw);
  } catch {
    throw new Failure(`${file} holds no certificate that can be read.`); // In words of ours.
  }
}

/** Each certificate once, in the order they came. */
function distinct(certificates: readonly Uint8Array[]): readonly Uint8Array[] {
  const seen = new Map(certificates.map((der) => [der.toHex(), der]));
  return [...seen.values()];
}

async function passphraseFrom(io: Io, file: string): Promise<string> {
  const passphrase = (await readTextArgument(io, file)).replace(/\r?\n$/, "");
  // Six is what Java's own tool insists on.
  if (passphrase.length >= 6) return passphrase;
  throw new Failure("The passphrase of a store has at least 6 characters.");
}

const commonName = ({ subject }: X509Certificate): string =>
  /(?:^|\n)CN=(.*)/.exec(subject)?.[1] ?? "certificate";
