/** The rows of a list of certificates to issue, out of CSV: what each wants, or what is wrong. */

import { givenIn } from "#web/x509/given.ts";
import { holdsKey } from "#web/x509/kinds.ts";
import { type CsvRow, csvText, parseCsv } from "./csv.ts";
import { type KeyType, parseKeyType } from "./key-types.ts";
import {
  commonNameFor,
  commonNameMax,
  namesIn,
  type RequestedName,
  readName,
  shortened,
} from "./names.ts";
import type { Wanted } from "./requests.ts";

interface RowCommon {
  readonly line: number;
  readonly ref: string;
  /** Undefined takes what the page has chosen. */
  readonly profile: string | undefined;
  readonly validityDays: number | undefined;
}

/** A row with a request; its key too, encrypted, where this page has made it. */
export interface RequestRow extends RowCommon {
  readonly kind: "request";
  /** PEM. */
  readonly csr: string;
  readonly encryptedKey: string | undefined;
}

/** A row with names, for which a key is still to be made. */
export interface NamesRow extends RowCommon {
  readonly kind: "names";
  readonly wanted: Wanted;
  readonly keyType: KeyType;
}

export interface FaultyRow {
  readonly kind: "faulty";
  readonly line: number;
  readonly ref: string;
  readonly fault: string;
}

export type Row = RequestRow | NamesRow | FaultyRow;

/** What each column holds, in the order of the template. */
export const columns = {
  ref: "What you call the certificate; files are named after it. The common name where empty.",
  csr: "A request, PEM or base64 of DER. Then the names are in it, and the next four stay empty.",
  common_name: "For a key made here: the name of the subject. The first of the names where empty.",
  names: "For a key made here: host names, addresses, mailboxes, URIs, with blanks between.",
  key_type:
    "For a key made here: ecdsa-p256 where empty, ecdsa-p384, rsa-2048, rsa-3072, rsa-4096.",
  encrypted_key: "Written by this page beside the request of a key it has made.",
  profile: "The one chosen above where empty.",
  validity_days: "As above, or as the profile has it, where empty.",
} as const;

export type Column = keyof typeof columns;

const columnNames = Object.keys(columns) as readonly Column[]; // Keys of the table.

/** Reads a whole list; a fault of the list as a whole is a sentence. */
export function rowsIn(text: string): readonly Row[] | string {
  const csv = parseCsv(text);
  if (csv.rows.length === 0) return "There is no row below a header.";
  const unknown = csv.columns.find((name) => !columnNames.some((known) => known === name));
  if (unknown !== undefined)
    return `There is no column ${shortened(unknown)}; see which there are.`;
  if (csv.rows.length > rowsMax)
    return `A list has ${rowsMax} rows at most, this ${csv.rows.length}.`;
  const rows = csv.rows.map(rowOf);
  const named = rows.filter(({ kind }) => kind === "names").length;
  if (named > keysMax) {
    return `Keys for ${keysMax} rows at most are made at a time, and ${named} want one.`;
  }
  const refs = new Map<string, number>();
  return rows.map((row) => {
    const first = refs.get(row.ref);
    refs.set(row.ref, first ?? row.line);
    if (first === undefined || row.kind === "faulty") return row;
    return faulty(row.line, row.ref, `Line ${first} has the same ref.`);
  });
}

/** The list again with the requests and the encrypted keys that were made for it. */
export const listText = (rows: readonly Row[]): string =>
  csvText(
    columnNames,
    rows.flatMap((row) => (row.kind === "request" ? [cellsOf(row)] : [])),
  );

/** To begin with: one row of each kind. */
export const templateText = (): string =>
  csvText(columnNames, [
    { ref: "www", names: "www.example.com www.example.org", key_type: "ecdsa-p256" },
    {
      ref: "mail",
      csr: "-----BEGIN CERTIFICATE REQUEST-----\n…\n-----END CERTIFICATE REQUEST-----",
    },
  ]);

const cellsOf = (row: RequestRow): Partial<Record<Column, string>> => ({
  ref: row.ref,
  csr: row.csr,
  ...(row.encryptedKey === undefined ? {} : { encrypted_key: row.encryptedKey }),
  ...(row.profile === undefined ? {} : { profile: row.profile }),
  ...(row.validityDays === undefined ? {} : { validity_days: String(row.validityDays) }),
});

function rowOf({ line, cells, surplus }: CsvRow): Row {
  const { csr, common_name = "", names = "", profile, validity_days: days } = cells;
  const wanted = csr === undefined ? wantedIn(common_name, names) : undefined;
  const ref = cells.ref ?? (typeof wanted === "object" && wanted.commonName) ?? "";
  const called = ref || `row-${line}`;
  const wrong = (fault: string) => faulty(line, called, fault);
  const secret = keyCell(cells);
  if (secret !== undefined) {
    const sentence = `${secret} has a private key in it: it stays here, and nothing was sent.`;
    // The ref may be the key, and is shown.
    return faulty(line, secret === "ref" ? `row-${line}` : called, sentence);
  }
  if (surplus > 0) return wrong("The row has more cells than the header.");
  if (called.length > refMax) return wrong(`A ref has ${refMax} characters at most.`);
  if (days !== undefined && !/^[1-9]\d{0,4}$/.test(days))
    return wrong("validity_days is no number.");
  const common = { line, ref: called, profile, validityDays: days ? Number(days) : undefined };
  if (csr !== undefined) {
    const given = givenIn(csr, "request");
    if (given.kind === "nothing") return wrong("csr is empty.");
    if (given.kind === "refused") return wrong(`csr: ${given.sentence}`);
    return { kind: "request", ...common, csr: given.pem, encryptedKey: cells.encrypted_key };
  }
  if (typeof wanted === "string") return wrong(wanted);
  const keyType = parseKeyType(cells.key_type ?? "ecdsa-p256");
  if (keyType === undefined) return wrong("key_type is none of those a browser makes.");
  return wanted === undefined
    ? wrong("The row has neither a request nor a name.")
    : { kind: "names", ...common, wanted, keyType };
}

/** What a request would say, or what is wrong with its names; undefined where there is none. */
function wantedIn(commonName: string, text: string): Wanted | string | undefined {
  if (commonName.length > commonNameMax) return `common_name is over ${commonNameMax} characters.`;
  const names: RequestedName[] = [];
  for (const one of namesIn(text)) {
    const read = readName(one);
    if (!read.ok) return `${shortened(one)}: ${read.fault}`;
    names.push(read.name);
  }
  if (commonName === "" && names.length === 0) return undefined;
  return { commonName: commonNameFor(commonName, names), subject: {}, names };
}

/** The first cell with a private key, but for the one where one belongs; it is never sent. */
const keyCell = (cells: CsvRow["cells"]): string | undefined =>
  Object.keys(cells).find((name) => name !== "encrypted_key" && holdsKey(cells[name] ?? ""));

const faulty = (line: number, ref: string, fault: string): FaultyRow => ({
  kind: "faulty",
  line,
  ref,
  fault,
});

/** As the operation takes them. */
const rowsMax = 10_000;
const refMax = 200;
/** Each takes a quarter of a second to encrypt, and more to be put into a PKCS#12. */
const keysMax = 500;
