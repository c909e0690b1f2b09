/** The directory of `openssl ca`, and the one of EasyRSA, which is kept by it. */

import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { decodePemBlocks } from "#core/asn1/pem.ts";
import { type IndexLine, parseIndexLine } from "#core/foreign-ca/openssl-index.ts";
import { Failure } from "#cli/failure.ts";

import { linesOf, type Placed, unreadable } from "./pieces.ts";

/** Where a program keeps what; names below its directory. */
export interface Layout {
  readonly index: string;
  readonly certificates: readonly string[];
  readonly extensions: readonly string[];
  readonly caCertificate: string;
  readonly caKey: string;
  readonly crlNumber: string;
  readonly crl: string | undefined;
}

export const layouts = {
  openssl: {
    index: "index.txt",
    certificates: ["newcerts", "certs"],
    extensions: [".pem", ".crt"],
    caCertificate: "cacert.pem",
    caKey: "private/cakey.pem",
    crlNumber: "crlnumber",
    crl: undefined,
  },
  easyrsa: {
    index: "index.txt",
    // What it revokes it moves.
    certificates: ["certs_by_serial", "revoked/certs_by_serial", "expired/certs_by_serial"],
    extensions: [".pem", ".crt"],
    caCertificate: "ca.crt",
    caKey: "private/ca.key",
    crlNumber: "crlnumber",
    crl: "crl.pem",
  },
} as const satisfies Record<string, Layout>;

/** The entries of a database, one a line; a certificate that is gone leaves its revocation. */
export function* indexEntries(
  index: string,
  directories: readonly string[],
  extensions: readonly string[],
): Generator<Placed> {
  for (const [number, line] of linesOf(index)) {
    const place = `${index}:${number}`;
    const found = parseIndexLine(line);
    if (found === undefined) continue;
    if ("fault" in found) yield { place, ...found };
    else yield entryOf(place, found, directories, extensions);
  }
}

function entryOf(
  place: string,
  { serial, name, revoked, valid }: IndexLine,
  directories: readonly string[],
  extensions: readonly string[],
): Placed {
  const file = fileOf(name, directories, extensions);
  const certificate = file === undefined ? undefined : certificateIn(file);
  if (certificate === undefined && revoked === undefined) {
    if (file !== undefined) return { place, fault: `${file} holds no certificate` };
    const fault = valid ? "its certificate is in no directory" : "expired, and its file is gone";
    return { place, fault };
  }
  return { place, entry: { certificate, serial, revoked } };
}

function fileOf(
  name: string,
  directories: readonly string[],
  extensions: readonly string[],
): string | undefined {
  // The name is hexadecimal digits: no other file can be meant.
  for (const spelled of new Set([name, name.toUpperCase(), name.toLowerCase()])) {
    for (const directory of directories) {
      for (const extension of extensions) {
        const file = join(directory, spelled + extension);
        if (existsSync(file)) return file;
      }
    }
  }
  return undefined;
}

/** The first one in PEM, behind whatever text the tool has put before it. */
function certificateIn(file: string): Uint8Array | undefined {
  try {
    if (statSync(file).size > fileOctetsMax) return undefined;
    const text = readFileSync(file, "utf8");
    const end = text.indexOf(endLine);
    const blocks =
      end < 0 ? undefined : decodePemBlocks(text.slice(0, end + endLine.length), label, 1);
    return blocks?.[0];
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** The last number that was given out: the file has the next one, in hexadecimal digits. */
export function crlNumberIn(file: string): bigint {
  if (!existsSync(file)) return 0n;
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (error) {
    throw unreadable(file, error);
  }
  if (!/^[0-9A-Fa-f]{1,40}$/.test(text)) throw new Failure(`${file} holds no number.`);
  const next = BigInt(`0x${text}`);
  return next > 0n ? next - 1n : 0n;
}

const label = "CERTIFICATE";
const endLine = `-----END ${label}-----`;
const fileOctetsMax = 1_048_576;
