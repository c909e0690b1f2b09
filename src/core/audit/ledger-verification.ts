/**
 * Verifies a ledger document with nothing but itself and the fingerprint of the ledger key, rule by
 * rule (LED-4).
 */

import { chainedEntries, signedByPinned } from "./ledger-verification-chain.ts";
import { countsAddUp, intentsAndOutcomes, keysAnnounced } from "./ledger-verification-counts.ts";
import {
  type DocumentEntry,
  type LedgerDocument,
  readLedgerDocument,
} from "./ledger-verification-document.ts";
import {
  artefactsMatch,
  artefactsOnce,
  pairs,
  prunedAndUnknown,
} from "./ledger-verification-operations.ts";
import {
  ledgerRules,
  type RuleVerdict,
  verdictOf,
  withoutVerdict,
} from "./ledger-verification-verdict.ts";

/** What was verified, and the verdict on each rule. */
export interface LedgerVerification {
  readonly ledgerId: string;
  readonly combined: boolean;
  readonly firstNumber: number;
  readonly lastNumber: number;
  readonly lastHash: string;
  readonly exportedAt: string;
  /** False when a rule is violated; what is not covered violates nothing. */
  readonly valid: boolean;
  /** V1 to V9, in order; the ones behind a violated one are `not_judged`. */
  readonly rules: readonly RuleVerdict[];
}

/**
 * Takes the octets of a document and the pinned fingerprint, lower hex of the SHA-256 over the
 * SubjectPublicKeyInfo. Gives a sentence for what is no ledger document at all. Linear in the
 * length of the document; at most `ledgerOctetsMax` of it.
 */
export function verifyLedger(octets: Uint8Array, pinned: string): LedgerVerification | string {
  if (octets.length > ledgerOctetsMax) return `it is larger than ${ledgerOctetsMax} octets`;
  const document = readLedgerDocument(octets);
  if (typeof document === "string") return document;
  const rules: RuleVerdict[] = [];
  for (const verdict of verdicts(document, pinned)) {
    rules.push(verdict);
    if (verdict.status === "violated") break;
  }
  const valid = rules.length === ledgerRules.length && rules.every(isKept);
  const behind = ledgerRules.slice(rules.length).map(notJudged);
  const { ledgerId, combined, firstNumber, lastNumber, lastHash, exportedAt } = document;
  const range = { ledgerId, combined, firstNumber, lastNumber, lastHash, exportedAt };
  return { ...range, valid, rules: rules.concat(behind) };
}

/** 256 MiB: what one document may have; a longer ledger is handed out range by range. */
export const ledgerOctetsMax = 256 * 1024 * 1024;

function* verdicts(document: LedgerDocument, pinned: string): Generator<RuleVerdict> {
  const entries = chainedEntries(document);
  if ("detail" in entries) {
    yield verdictOf("V1", entries);
    return;
  }
  yield verdictOf("V1", { checked: entries.length, unproven: 0, open: [] });
  yield verdictOf("V2", signedByPinned(document, entries, pinned));
  yield verdictOf("V3", intentsAndOutcomes(document, entries));
  if (document.combined) yield* combinedVerdicts(document, entries);
  else for (const rule of ["V4", "V5", "V6"] as const) yield withoutVerdict(rule, ...notCombined);
  yield verdictOf("V7", countsAddUp(document, entries));
  if (!document.combined) yield withoutVerdict("V8", ...notCombined);
  else yield verdictOf("V8", artefactsOnce(document, pairsOf(document, entries)));
  yield verdictOf("V9", keysAnnounced(document, entries));
}

function* combinedVerdicts(
  document: LedgerDocument,
  entries: readonly DocumentEntry[],
): Generator<RuleVerdict> {
  const found = pairs(document, entries);
  if ("detail" in found) {
    yield verdictOf("V4", found);
    return;
  }
  yield verdictOf("V4", { checked: found.length, unproven: 0, open: [] });
  yield verdictOf("V5", artefactsMatch(found));
  yield verdictOf("V6", prunedAndUnknown(found, entries));
}

/** The pairs, of a document that keeps V4. */
function pairsOf(document: LedgerDocument, entries: readonly DocumentEntry[]) {
  const found = pairs(document, entries);
  return "detail" in found ? [] : found;
}

const isKept = ({ status }: RuleVerdict): boolean =>
  status === "passed" || status === "partly" || status === "not_covered";

const notJudged = (rule: RuleVerdict["rule"]): RuleVerdict =>
  withoutVerdict(rule, "not_judged", "an earlier rule is violated");

const notCombined = ["not_covered", "the document holds no sign operations"] as const;
