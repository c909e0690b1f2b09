/** Rules V3, V7 and V9: what the entries of a ledger say of one another (LED-4). */

import type { DocumentEntry, LedgerDocument } from "./ledger-verification-document.ts";
import { isObject } from "./ledger-verification-text.ts";
import type { Finding, Violation } from "./ledger-verification-verdict.ts";

type Document = Pick<LedgerDocument, "firstNumber" | "openIntents" | "counts">;

/** V3: intents and outcomes belong together one to one; what is open is said to be. */
export function intentsAndOutcomes(
  { firstNumber, openIntents }: Document,
  entries: readonly DocumentEntry[],
): Finding {
  const intents = new Map<string, DocumentEntry>();
  const closed = new Set<string>();
  let before = 0;
  for (const entry of entries) {
    const { kind, opId, number } = entry;
    if (kind !== "intent" && kind !== "outcome") continue;
    const fault = formFault(entry);
    if (fault !== undefined) return { detail: fault, entry: number };
    if (kind === "intent") {
      // An outcome before its intent is no outcome of it.
      const again = intents.has(opId) || closed.has(opId);
      if (again) return { detail: `another intent has the op_id ${opId}`, entry: number };
      intents.set(opId, entry);
      continue;
    }
    if (closed.has(opId)) return { detail: `another outcome of ${opId}`, entry: number };
    closed.add(opId);
    const intent = intents.get(opId);
    if (intent === undefined) {
      if (firstNumber === 1) return { detail: "no earlier intent has its op_id", entry: number };
      before += 1;
      continue;
    }
    const other = sameInBoth.find((name) => intent[name] !== entry[name]);
    if (other !== undefined) {
      return { detail: `its ${wireName(other)} is not that of its intent`, entry: number };
    }
  }
  return openOnes(intents, closed, openIntents) ?? covered(intents.size + before, before);
}

/** V7: the counts of the document are those of its entries, and totals add up. */
export function countsAddUp(
  { firstNumber, counts }: Document,
  entries: readonly DocumentEntry[],
): Finding {
  const tallies = new Map<string, Tally>();
  const totals = new Map<string, number>();
  let begun = 0;
  for (const entry of entries) {
    const { kind, signerFingerprint: key, operation, result, number } = entry;
    if (kind !== "outcome" && kind !== "count") continue;
    const tally = tallies.get(key) ?? emptyTally(entry);
    tallies.set(key, tally);
    const [count, total] = [Number(entry.count), Number(entry.total)];
    if (kind === "count") {
      if (entry.count === "" || entry.total === "" || result !== "") {
        return { detail: "it lacks count or total, or has a result", entry: number };
      }
      const previous = totals.get(key) ?? (firstNumber === 1 ? 0 : undefined);
      if (previous === undefined) begun += 1;
      else if (previous + count !== total) {
        return { detail: `its total is ${total}, not ${previous} and ${count}`, entry: number };
      }
      totals.set(key, total);
    }
    if (result === "error" || result === "unknown") tally[result] += 1;
    else if (operation === "sign" || operation === "decrypt") {
      tally[operation] += kind === "count" ? count : 1;
    }
  }
  const fault = talliesFault(tallies, counts);
  if (fault !== undefined) return { detail: fault };
  const open = `${begun} keys have no earlier count in this range to add to`;
  return { checked: tallies.size, unproven: begun, open: begun === 0 ? [] : [open] };
}

/** V9: every key was announced before its use. The events that anchor are in no document. */
export function keysAnnounced(
  { firstNumber }: Document,
  entries: readonly DocumentEntry[],
): Finding {
  const announced = new Set<string>();
  const used = new Set<string>();
  const earlier = new Set<string>();
  for (const { kind, operation, signerFingerprint: key, number } of entries) {
    if (kind === "key" && announcing.has(operation)) announced.add(key);
    if (kind !== "intent" && kind !== "outcome" && kind !== "count") continue;
    used.add(key);
    if (announced.has(key)) continue;
    if (firstNumber === 1) return { detail: `its key ${key} was never announced`, entry: number };
    earlier.add(key);
  }
  const open = [anchorsElsewhere];
  if (earlier.size > 0) open.unshift(`${earlier.size} keys were announced before this range`);
  return { checked: used.size - earlier.size, unproven: earlier.size, open };
}

interface Tally {
  role: string;
  sign: number;
  decrypt: number;
  error: number;
  unknown: number;
}

const emptyTally = ({ role }: DocumentEntry): Tally => ({
  role,
  sign: 0,
  decrypt: 0,
  error: 0,
  unknown: 0,
});

function formFault(entry: DocumentEntry): string | undefined {
  if (entry.opId === "") return "it has no op_id";
  if (entry.operation === "" || entry.digest === "") return "it has no operation or no digest";
  if ((entry.result !== "") !== (entry.kind === "outcome")) {
    return entry.kind === "outcome" ? "it has no result" : "an intent has a result";
  }
  const signed = entry.operation === "sign" && entry.result === "success";
  return signed && entry.signatureSha256 === "" ? "it has no signature_sha256" : undefined;
}

function openOnes(
  intents: ReadonlyMap<string, DocumentEntry>,
  closed: ReadonlySet<string>,
  openIntents: readonly unknown[],
): Violation | undefined {
  const said = new Set(openIntents);
  if (said.size !== openIntents.length) return { detail: "open_intents names one twice" };
  for (const [opId, { number }] of intents) {
    if (closed.has(opId) || said.has(opId)) continue;
    return { detail: "it has no outcome and is not in open_intents", entry: number };
  }
  for (const opId of said) {
    const intent = typeof opId === "string" && !closed.has(opId) ? intents.get(opId) : undefined;
    if (intent !== undefined) continue;
    return { detail: `open_intents names ${JSON.stringify(opId)}, which is no open intent` };
  }
  return undefined;
}

const covered = (checked: number, before: number): Finding => ({
  checked: checked - before,
  unproven: before,
  open:
    before === 0 ? [] : [`${before} outcomes have their intents before this range: not covered`],
});

function talliesFault(
  tallies: ReadonlyMap<string, Tally>,
  counts: Readonly<Record<string, unknown>>,
): string | undefined {
  for (const [key, tally] of tallies) {
    const said = Object.hasOwn(counts, key) ? counts[key] : undefined;
    if (!isObject(said)) return `counts does not name the key ${key}`;
    const members = Object.entries(tally);
    const other = members.find(([name, value]) => said[name] !== value);
    if (other !== undefined) return `counts of ${key}: ${other[0]} is not ${other[1]}`;
    if (Object.keys(said).length !== members.length) return `counts of ${key} says more than that`;
  }
  const extra = Object.keys(counts).find((key) => !tallies.has(key));
  return extra === undefined ? undefined : `counts names ${extra}, a key of no entry`;
}

const wireName = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** What an outcome repeats of its intent. */
export const sameInBoth = [
  "provider",
  "deviceSerial",
  "keyLabel",
  "signerFingerprint",
  "role",
  "operation",
  "algorithm",
  "digest",
  "purpose",
  "caId",
] as const;

const announcing: ReadonlySet<string> = new Set(["generate", "import", "find"]);
const anchorsElsewhere = "audit.anchor events are in the audit chain, not in this document";
