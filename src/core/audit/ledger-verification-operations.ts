/** Rules V4, V5, V6 and V8: each signature of the ledger stands on what it is said to (LED-4). */

import { importPublicKey, sha256Hex, verifySignature } from "#core/crypto.ts";
import { type SignatureName, schemeOf } from "#core/x509/algorithms.ts";
import { fingerprint, parsePublicKey, signatureFits } from "#core/x509/public-keys.ts";

import { formatOf, type ReadArtefact, readArtefact } from "./ledger-verification-artefacts.ts";
import {
  type DocumentEntry,
  type DocumentOperation,
  type LedgerDocument,
  readDocumentOperation,
} from "./ledger-verification-document.ts";
import type { Finding, Violation } from "./ledger-verification-verdict.ts";

/** A successful signature with its operation. */
export interface Pair {
  readonly entry: DocumentEntry;
  readonly operation: DocumentOperation;
}

/** V4: the pairs, or the outcome or operation that has no other half. */
export function pairs(
  { operations }: Pick<LedgerDocument, "operations">,
  entries: readonly DocumentEntry[],
): readonly Pair[] | Violation {
  const outcomes = new Map<string, DocumentEntry>();
  for (const entry of entries) {
    if (entry.kind !== "outcome" || entry.operation !== "sign") continue;
    if (entry.signAuditId !== entry.opId) {
      return { detail: "its sign_audit_id is not its op_id", entry: entry.number };
    }
    if (entry.result === "success") outcomes.set(entry.opId, entry);
  }
  const found: Pair[] = [];
  for (const [at, value] of operations.entries()) {
    const operation = readDocumentOperation(value);
    if (typeof operation === "string") return { detail: `sign_operations[${at}]: ${operation}` };
    const opId = operation.id;
    const entry = outcomes.get(opId);
    if (entry === undefined) {
      return { detail: "no success outcome, or two operations, have this op_id", opId };
    }
    outcomes.delete(opId);
    const fault = restatementFault(entry, operation);
    if (fault !== undefined) return { detail: fault, entry: entry.number, opId };
    found.push({ entry, operation });
  }
  for (const { number, opId } of outcomes.values()) {
    return { detail: "no sign operation has its op_id", entry: number, opId };
  }
  return found;
}

/** V5: digests, signatures and names of every artefact that is there. */
export function artefactsMatch(all: readonly Pair[]): Finding {
  const keys = keysIn(all);
  const open = new Map<string, number>();
  let checked = 0;
  for (const { entry, operation } of all) {
    if (operation.pruned) continue;
    const artefact = formatOf(operation.purpose) && readArtefact(operation);
    if (artefact === undefined || artefact === "") {
      const why = `${operation.purpose}: artefacts of this purpose are not read here`;
      open.set(why, (open.get(why) ?? 0) + 1);
      continue;
    }
    const fault =
      typeof artefact === "string" ? artefact : artefactFault({ entry, operation }, artefact, keys);
    if (fault !== undefined) return { detail: fault, entry: entry.number, opId: entry.opId };
    const why = `the public key ${entry.signerFingerprint} is in no artefact of the document`;
    if (keys.has(entry.signerFingerprint)) checked += 1;
    else open.set(why, (open.get(why) ?? 0) + 1);
  }
  const unproven = [...open.values()].reduce((sum, count) => sum + count, 0);
  return { checked, unproven, open: [...open].map(([why, count]) => `${count} unproven, ${why}`) };
}

/** V6: what is pruned, and what a crash left unknown. */
export function prunedAndUnknown(all: readonly Pair[], entries: readonly DocumentEntry[]): Finding {
  const pruned = all.filter(({ operation }) => operation.pruned);
  for (const { entry, operation } of pruned) {
    if (operation.certificate === "" && operation.artifactDer === "") continue;
    return { detail: "it is pruned and has a body", entry: entry.number, opId: entry.opId };
  }
  const unknown = entries.filter(({ kind, result }) => kind === "outcome" && result === "unknown");
  const signed = new Map<string, number>();
  for (const { operation } of all) {
    const name = `${operation.signerFingerprint} ${operation.digest}`;
    signed.set(name, (signed.get(name) ?? 0) + 1);
  }
  for (const { signerFingerprint, digest, number } of unknown) {
    if ((signed.get(`${signerFingerprint} ${digest}`) ?? 0) < 2) continue;
    return { detail: "an unknown outcome matches two artefacts", entry: number };
  }
  const open = [...perPurpose(pruned)].map(
    ([purpose, numbers]) => `${numbers.length} pruned ${purpose} unproven: ${named(numbers)}`,
  );
  if (unknown.length > 0) {
    const numbers = unknown.map(({ number }) => number);
    open.push(`${unknown.length} outcomes unknown: ${named(numbers)}`);
  }
  return { checked: all.length - pruned.length, unproven: pruned.length + unknown.length, open };
}

/** V8: each artefact once per key that signed it, a hybrid one by both its keys. */
export function artefactsOnce(
  { firstNumber }: Pick<LedgerDocument, "firstNumber">,
  all: readonly Pair[],
): Finding {
  const signers = new Map<string, Signed>();
  for (const { entry, operation } of all) {
    const artefact = !operation.pruned && formatOf(operation.purpose) && readArtefact(operation);
    if (artefact === false || typeof artefact !== "object") continue;
    const name = sha256Hex(artefact.der);
    const one = signers.get(name) ?? { keys: new Set(), wanted: 0, entry, native: false };
    if (one.keys.has(entry.signerFingerprint)) {
      return { detail: "its key signed this artefact before", entry: entry.number };
    }
    one.keys.add(entry.signerFingerprint);
    one.wanted = artefact.signatures.length;
    one.native ||= sha256Hex(artefact.signatures[0]?.covered ?? empty) === entry.digest;
    signers.set(name, one);
  }
  let beyond = 0;
  for (const { keys, wanted, entry, native } of signers.values()) {
    if (keys.size === wanted) continue;
    // The alternative signature is made first: it may lie before the range, the native behind it.
    if (native && firstNumber === 1) {
      return { detail: "its alternative signature is in no pair", entry: entry.number };
    }
    beyond += 1;
  }
  const open = [inventoryElsewhere];
  if (beyond > 0) open.unshift(`${beyond} hybrid artefacts have one of two pairs in this range`);
  return { checked: signers.size - beyond, unproven: beyond, open };
}

interface Signed {
  readonly keys: Set<string>;
  /** Signatures the artefact carries. */
  wanted: number;
  readonly entry: DocumentEntry;
  /** True once the pair of the native signature was seen. */
  native: boolean;
}

/** What an operation repeats of its outcome, by the name of the member. */
function restatementFault(entry: DocumentEntry, operation: DocumentOperation): string | undefined {
  const other = restated.find((name) => operation[name] !== entry[name]);
  if (other !== undefined) return `${other} of its sign operation is another`;
  const format = formatOf(operation.purpose) ?? unreadFormats.get(operation.purpose);
  return operation.certFormat === format ? undefined : "cert_format is not that of its purpose";
}

function artefactFault(
  { entry, operation }: Pair,
  artefact: ReadArtefact,
  keys: ReadonlyMap<string, Uint8Array>,
): string | undefined {
  const made = artefact.signatures.find(({ covered }) => sha256Hex(covered) === entry.digest);
  if (made === undefined) return "the octets of its artefact have another digest";
  if (sha256Hex(made.value) !== entry.signatureSha256) {
    return "the signature of its artefact has another digest";
  }
  if (made.algorithm === undefined || made.algorithm !== entry.algorithm) {
    return "its artefact is signed with another algorithm";
  }
  const spki = keys.get(entry.signerFingerprint);
  if (spki !== undefined && !verifies(spki, made.algorithm, made.covered, made.value)) {
    return "the signature of its artefact does not verify under its key";
  }
  return nameFault(entry, operation, artefact);
}

function nameFault(
  { artifact }: DocumentEntry,
  operation: DocumentOperation,
  { name, der }: ReadArtefact,
): string | undefined {
  switch (operation.certFormat) {
    case "x509":
      return name === artifact && operation.serial === artifact
        ? undefined
        : "the serial of its artefact is another";
    case "crl":
      return name === String(operation.crlNumber) &&
        `${operation.crlScope}#${operation.crlNumber}` === artifact
        ? undefined
        : "the number of its list is another";
    case "self_test":
      return artifact === "" || artifact === der.toBase64()
        ? undefined
        : "its artefact is not the one in the entry";
    default:
      return undefined;
  }
}

/** True when the octets are signed under this key, by an algorithm that fits it. */
export function verifies(
  spki: Uint8Array,
  algorithm: SignatureName,
  covered: Uint8Array,
  value: Uint8Array,
): boolean {
  try {
    if (!signatureFits(parsePublicKey(spki), algorithm)) return false;
    return verifySignature(importPublicKey(spki), schemeOf(algorithm), covered, value);
  } catch {
    // A key that cannot be read or imported, such as a point off its curve, has signed nothing.
    return false;
  }
}

/**
 * The public keys of signers, found in certificates and requests of the document: a key is taken by
 * its digest, so whatever carries it cannot pass another off.
 */
function keysIn(all: readonly Pair[]): ReadonlyMap<string, Uint8Array> {
  const wanted = new Set(all.map(({ entry }) => entry.signerFingerprint));
  const keys = new Map<string, Uint8Array>();
  for (const { operation } of all) {
    if (keys.size === wanted.size) break;
    const format = operation.pruned ? undefined : formatOf(operation.purpose);
    if (format === undefined || format === "crl") continue;
    const artefact = readArtefact(operation);
    if (typeof artefact === "string") continue;
    for (const spki of artefact.keys) {
      const name = fingerprint(spki);
      if (wanted.has(name)) keys.set(name, spki);
    }
  }
  return keys;
}

function perPurpose(all: readonly Pair[]): ReadonlyMap<string, readonly number[]> {
  const numbers = new Map<string, number[]>();
  for (const { entry } of all) {
    const list = numbers.get(entry.purpose) ?? [];
    list.push(entry.number);
    numbers.set(entry.purpose, list);
  }
  return numbers;
}

/** The first of a list of entries, as text. */
function named(numbers: readonly number[]): string {
  const more = numbers.length > namedMax ? " and more" : "";
  return `entries ${numbers.slice(0, namedMax).join(", ")}${more}`;
}

const restated = [
  "timestamp",
  "caId",
  "purpose",
  "signerFingerprint",
  "keyLabel",
  "digest",
  "signatureSha256",
] as const;

/** Formats nothing here reads: their operations stay unproven. */
const unreadFormats: ReadonlyMap<string, string> = new Map([
  ["ssh_certificate", "ssh"],
  ["ocsp", "ocsp"],
  ["protocol_reply", "protocol_reply"],
]);

const inventoryElsewhere = "the inventory itself is not in the document";
const namedMax = 20;
const empty = new Uint8Array();
