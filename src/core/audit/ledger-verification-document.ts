/**
 * A ledger document as its verification sees it: every member read strictly, none ignored
 * (LED-4).
 */

import { exportFormat } from "./ledger-export.ts";
import { type LedgerEntry, ledgerKinds } from "./ledger.ts";
import { isObject, readDocumentText } from "./ledger-verification-text.ts";

/** A document whose form is that of a ledger document; nothing of it is believed yet. */
export interface LedgerDocument {
  readonly combined: boolean;
  readonly ledgerId: string;
  readonly provider: string;
  readonly deviceSerial: string;
  readonly firstNumber: number;
  readonly lastNumber: number;
  readonly firstPrevHash: string;
  readonly lastHash: string;
  readonly exportedAt: string;
  readonly signature: string;
  readonly signatureAlgorithm: string;
  readonly attestation: string;
  /** True where the document carries attestations, which nothing here judges. */
  readonly attested: boolean;
  /** Read one by one, in the order they have: what is wrong with one is its own fault. */
  readonly entries: readonly unknown[];
  readonly operations: readonly unknown[];
  /** The text of `sign_operations` as it was sent. */
  readonly operationsText: Uint8Array;
  readonly openIntents: readonly unknown[];
  readonly counts: Readonly<Record<string, unknown>>;
}

/** An entry as it stands in a document. */
export interface DocumentEntry extends LedgerEntry {
  /** Of sign outcomes in combined documents; empty elsewhere. */
  readonly signAuditId: string;
}

/** A sign operation as it stands in a document; absent members are empty text. */
export interface DocumentOperation {
  readonly id: string;
  readonly timestamp: string;
  readonly caId: string;
  readonly certFormat: string;
  readonly purpose: string;
  readonly signerFingerprint: string;
  readonly keyLabel: string;
  readonly serial: string;
  readonly crlScope: string;
  readonly crlNumber: number | undefined;
  readonly digest: string;
  readonly signatureSha256: string;
  readonly certificate: string;
  readonly artifactDer: string;
  readonly pruned: boolean;
}

/** Reads a document of either kind; gives a sentence for what is none. */
export function readLedgerDocument(octets: Uint8Array): LedgerDocument | string {
  const text = readDocumentText(octets);
  if (typeof text === "string") return text;
  const { members } = text;
  if (members.format !== exportFormat) return `its format is not ${exportFormat}`;
  const combined = "hsm_entries" in members;
  const expected: Readonly<Record<string, Kind>> = combined ? combinedMembers : signedMembers;
  const fault = formFault(members, expected, expected);
  if (fault !== undefined) return fault;
  const raw = text.octetsOf("sign_operations");
  return {
    combined,
    ledgerId: textIn(members, "ledger_id"),
    provider: textIn(members, "provider"),
    deviceSerial: textIn(members, "device_serial"),
    firstNumber: Number(members.first_number),
    lastNumber: Number(members.last_number),
    firstPrevHash: textIn(members, "first_prev_hash"),
    lastHash: textIn(members, "last_hash"),
    exportedAt: textIn(members, "exported_at"),
    signature: textIn(members, "signature"),
    signatureAlgorithm: textIn(members, "signature_algorithm"),
    attestation: textIn(members, "attestation_cert_pem"),
    attested: textIn(members, "device_cert_pem") !== "" || hasText(members.key_attestations),
    entries: listIn(members, combined ? "hsm_entries" : "entries"),
    operations: listIn(members, "sign_operations"),
    operationsText: trimmed(raw ?? new Uint8Array()),
    openIntents: listIn(members, "open_intents"),
    counts: isObject(members.counts) ? members.counts : {},
  };
}

/** Reads one entry; gives a sentence for what is none, or has members no hash covers. */
export function readDocumentEntry(value: unknown, combined: boolean): DocumentEntry | string {
  if (!isObject(value)) return "it is not an object";
  const audited = combined && value.kind === "outcome" && value.operation === "sign";
  const fault = formFault(value, audited ? auditedEntryMembers : entryMembers, requiredOfEntry);
  if (fault !== undefined) return fault;
  const kind = ledgerKinds.find((one) => one === value.kind);
  if (kind === undefined) return "it is of an unknown kind";
  const wordFault = closedWordFault(value);
  if (wordFault !== undefined) return wordFault;
  return {
    number: Number(value.number),
    timestamp: textIn(value, "timestamp"),
    kind,
    opId: textIn(value, "op_id"),
    provider: textIn(value, "provider"),
    deviceSerial: textIn(value, "device_serial"),
    keyLabel: textIn(value, "key_label"),
    signerFingerprint: textIn(value, "signer_fingerprint"),
    // Closed words were compared above.
    role: textIn(value, "role") as LedgerEntry["role"],
    operation: textIn(value, "operation") as LedgerEntry["operation"], // Compared above.
    algorithm: textIn(value, "algorithm"),
    digest: textIn(value, "digest"),
    // A purpose this binary does not know hashes like any other, and its artefact is unproven.
    purpose: textIn(value, "purpose") as LedgerEntry["purpose"],
    caId: textIn(value, "ca_id"),
    artifact: textIn(value, "artifact"),
    result: textIn(value, "result") as LedgerEntry["result"], // Compared above.
    signatureSha256: textIn(value, "signature_sha256"),
    error: textIn(value, "error"),
    count: value.count === undefined ? "" : String(value.count),
    total: value.total === undefined ? "" : String(value.total),
    prevHash: textIn(value, "prev_hash"),
    hash: textIn(value, "hash"),
    signAuditId: textIn(value, "sign_audit_id"),
  };
}

/** Reads one sign operation; gives a sentence for what is none. */
export function readDocumentOperation(value: unknown): DocumentOperation | string {
  if (!isObject(value)) return "it is not an object";
  const fault = formFault(value, operationMembers, requiredOfOperation);
  if (fault !== undefined) return fault;
  return {
    id: textIn(value, "id"),
    timestamp: textIn(value, "timestamp"),
    caId: textIn(value, "ca_id"),
    certFormat: textIn(value, "cert_format"),
    purpose: textIn(value, "purpose"),
    signerFingerprint: textIn(value, "signer_fingerprint"),
    keyLabel: textIn(value, "key_label"),
    serial: textIn(value, "serial"),
    crlScope: textIn(value, "crl_scope"),
    crlNumber: value.crl_number === undefined ? undefined : Number(value.crl_number),
    digest: textIn(value, "digest"),
    signatureSha256: textIn(value, "signature_sha256"),
    certificate: textIn(value, "certificate"),
    artifactDer: textIn(value, "artifact_der"),
    pruned: value.artifact_pruned === true,
  };
}

type Kind = "text" | "hex" | "number" | "list" | "object" | "flag";

/** What is wrong with names and types of members, as a sentence. */
function formFault(
  value: Readonly<Record<string, unknown>>,
  allowed: Readonly<Record<string, Kind>>,
  required: Readonly<Record<string, unknown>>,
): string | undefined {
  const missing = Object.keys(required).find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `${missing} is missing`;
  for (const [name, content] of Object.entries(value)) {
    const kind = Object.hasOwn(allowed, name) ? allowed[name] : undefined;
    if (kind === undefined) return `${JSON.stringify(name)} is no member of it`;
    if (!isOf(kind, content)) return `${name} is not ${kindTexts[kind]}`;
  }
  return undefined;
}

function isOf(kind: Kind, content: unknown): boolean {
  switch (kind) {
    case "text":
      // Half a surrogate pair has no UTF-8, so two texts would hash alike.
      return typeof content === "string" && content.isWellFormed();
    case "hex":
      return typeof content === "string" && /^[0-9a-f]{64}$/.test(content);
    case "number":
      return Number.isSafeInteger(content) && Number(content) >= 0;
    case "list":
      return Array.isArray(content);
    case "object":
      return isObject(content);
    case "flag":
      return typeof content === "boolean";
    default:
      return kind satisfies never;
  }
}

function closedWordFault(value: Readonly<Record<string, unknown>>): string | undefined {
  for (const [name, words] of Object.entries(closedWords)) {
    const word = value[name];
    if (word !== undefined && !words.has(String(word))) return `${name} is none of its words`;
  }
  return undefined;
}

function textIn(row: Readonly<Record<string, unknown>>, name: string): string {
  const content = row[name];
  return typeof content === "string" ? content : "";
}

function listIn(row: Readonly<Record<string, unknown>>, name: string): readonly unknown[] {
  const content = row[name];
  return Array.isArray(content) ? content : [];
}

const hasText = (value: unknown): boolean =>
  isObject(value) && Object.values(value).some((text) => text !== "");

/** Without the white space JSON allows around a value. */
function trimmed(octets: Uint8Array): Uint8Array {
  const blank = (octet: number | undefined) => octet !== undefined && blanks.has(octet);
  let [start, end] = [0, octets.length];
  while (start < end && blank(octets[start])) start += 1;
  while (end > start && blank(octets[end - 1])) end -= 1;
  return octets.subarray(start, end);
}

const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

const kindTexts: Readonly<Record<Kind, string>> = {
  text: "a text",
  hex: "64 lower-case hexadecimal digits",
  number: "a whole number",
  list: "a list",
  object: "an object",
  flag: "true or false",
};

const commonMembers = {
  format: "text",
  ledger_id: "text",
  provider: "text",
  device_serial: "text",
  first_number: "number",
  last_number: "number",
  first_prev_hash: "hex",
  last_hash: "hex",
  open_intents: "list",
  counts: "object",
  exported_at: "text",
  signature_algorithm: "text",
  signature: "text",
  attestation_cert_pem: "text",
  device_cert_pem: "text",
} as const satisfies Readonly<Record<string, Kind>>;

const signedMembers = { ...commonMembers, entries: "list" } as const;

const combinedMembers = {
  ...commonMembers,
  hsm_entries: "list",
  sign_operations: "list",
  key_attestations: "object",
} as const;

const requiredOfEntry = { number: 0, timestamp: 0, kind: 0, prev_hash: 0, hash: 0 } as const;

const entryMembers = {
  number: "number",
  timestamp: "text",
  kind: "text",
  op_id: "text",
  provider: "text",
  device_serial: "text",
  key_label: "text",
  signer_fingerprint: "text",
  role: "text",
  operation: "text",
  algorithm: "text",
  digest: "hex",
  purpose: "text",
  ca_id: "text",
  artifact: "text",
  result: "text",
  signature_sha256: "hex",
  error: "text",
  count: "number",
  total: "number",
  prev_hash: "hex",
  hash: "hex",
} as const satisfies Readonly<Record<string, Kind>>;

const auditedEntryMembers = { ...entryMembers, sign_audit_id: "text" } as const;

const closedWords: Readonly<Record<string, ReadonlySet<string>>> = {
  role: new Set(["ca", "ssh", "responder", "tsa", "kek", "ledger"]),
  operation: new Set(["sign", "decrypt", "generate", "import", "find", "destroy"]),
  result: new Set(["success", "error", "unknown"]),
};

const requiredOfOperation = {
  id: 0,
  timestamp: 0,
  cert_format: 0,
  purpose: 0,
  signer_fingerprint: 0,
  key_label: 0,
  digest: 0,
  signature_sha256: 0,
} as const;

const operationMembers = {
  id: "text",
  timestamp: "text",
  user_sub: "text",
  user_name: "text",
  request_id: "text",
  ca_id: "text",
  ca_label: "text",
  cert_format: "text",
  purpose: "text",
  signer_fingerprint: "text",
  key_label: "text",
  serial: "text",
  crl_scope: "text",
  crl_number: "number",
  cert_type: "text",
  key_id: "text",
  principals: "list",
  valid_after: "text",
  valid_before: "text",
  digest: "hex",
  signature_sha256: "hex",
  certificate: "text",
  artifact_der: "text",
  artifact_pruned: "flag",
} as const satisfies Readonly<Record<string, Kind>>;
