/**
 * Walks the sign ledger once, oldest entry first: rules V1, V3, V7 and V9 over the entries, V4 to
 * V6 and V8 against the artefacts (LED-4).
 */

import { type LedgerEntry, ledgerHash } from "#core/audit/ledger.ts";
import { requestArtefact } from "#core/audit/ledger-verification-artefacts.ts";
import { sameInBoth } from "#core/audit/ledger-verification-counts.ts";
import { sha256Hex } from "#core/crypto.ts";
import { parseTimestamp } from "#core/time.ts";
import { fingerprint } from "#core/x509/public-keys.ts";

import type { KeySet } from "./key-set.ts";
import { certificatePurposes, pairOfEntry } from "./pair.ts";
import type { Proofs } from "./proofs.ts";
import type { SignatureKeys } from "./signature-keys.ts";
import { prunedText } from "./told-texts.ts";

/** What is known of the artefacts when the walk begins. */
export interface LedgerPremises {
  readonly proofs: Proofs;
  readonly keys: SignatureKeys;
  /** Every signature on what is stored. */
  readonly pairs: Pick<KeySet, "mark">;
  /** Takes the op_id of each intent. */
  readonly opIds: KeySet;
  /** The entry before the first one; number 0 for the whole ledger. */
  readonly before: { readonly number: number; readonly hash: string };
  /** Keys that were announced before that. */
  readonly announced: Iterable<string>;
  /** Outcomes before this, in epoch milliseconds, need not have their artefact here. */
  readonly since: number;
  /** The greatest number of a stored list of a CA and scope; undefined where there is none. */
  readonly newestList: (caId: string, scope: string) => number | undefined;
  readonly isStoredList: (caId: string, artifact: string) => boolean;
  readonly isKnownCa: (caId: string) => boolean;
  /** `prunedText` of each certificate that retention has left a tombstone of. */
  readonly pruned: KeySet;
}

/** One walk. */
export class LedgerWalk {
  /** Keys by fingerprint, as they were announced last. */
  readonly announcedKeys = new Map<string, LedgerEntry>();
  /** What was counted of each key in all. */
  readonly totals = new Map<string, number>();
  readonly #premises: LedgerPremises;
  readonly #open = new Map<string, LedgerEntry>();
  readonly #announced: Set<string>;
  /** CA and artefact of operations that came to nothing. */
  readonly #failed = new Set<string>();
  /** Outcomes of success without artefact, until the last entry tells why. */
  #absent: LedgerEntry[] = [];
  #end: { number: number; hash: string };

  constructor(premises: LedgerPremises) {
    this.#premises = premises;
    this.#announced = new Set(premises.announced);
    this.#end = premises.before;
  }

  /** The last entry that was taken. */
  get end() {
    return this.#end;
  }

  /** The next entry. */
  take(entry: LedgerEntry): void {
    const { ledger } = this.#premises.proofs;
    ledger.checked += 1;
    this.#link(entry);
    const { kind } = entry;
    if (kind === "key" && announcing.has(entry.operation)) {
      this.#announced.add(entry.signerFingerprint);
      this.announcedKeys.set(entry.signerFingerprint, entry);
    }
    if (kind !== "intent" && kind !== "outcome" && kind !== "count") return;
    if (!this.#announced.has(entry.signerFingerprint)) {
      ledger.violated(`Entry ${entry.number}: its key was never announced (V9).`);
    }
    if (kind === "intent") this.#intended(entry);
    else if (kind === "outcome") this.#closed(entry);
    else this.#counted(entry);
  }

  /** After the last one: `open` are the op_ids that the store holds open, by intent. */
  finish(open: ReadonlyMap<number, string>): void {
    const { ledger, artefacts } = this.#premises.proofs;
    const left = new Set(open.keys());
    for (const { number, opId, caId, artifact } of this.#open.values()) {
      this.#failed.add(nameOf({ caId, artifact }));
      if (open.get(number) === opId) ledger.noted("intents are open");
      else ledger.violated(`Entry ${number}: it has no outcome and is not open (V3).`);
      left.delete(number);
    }
    for (const number of left) {
      if (number <= this.#premises.before.number) ledger.noted("intents from before are open");
      else ledger.violated(`Entry ${number} is held open and is no open intent (V3).`);
    }
    for (const entry of this.#absent) {
      if (this.#failed.has(nameOf(entry)))
        artefacts.noted("signed, and thrown away after a failure");
      else artefacts.violated(absentText(entry));
    }
    this.#absent = [];
  }

  #link(entry: LedgerEntry): void {
    const { ledger } = this.#premises.proofs;
    const { number, hash } = this.#end;
    if (entry.number !== number + 1) {
      ledger.violated(`Entry ${number + 1} is missing (V1).`);
    } else if (entry.prevHash !== hash) {
      ledger.violated(`Entry ${entry.number} does not link to the one before it (V1).`);
    } else if (ledgerHash(entry) !== entry.hash) {
      ledger.violated(`Entry ${entry.number} has another hash (V1).`);
    }
    this.#end = { number: entry.number, hash: entry.hash };
  }

  #intended(entry: LedgerEntry): void {
    const { proofs, opIds } = this.#premises;
    if (this.#open.has(entry.opId)) {
      proofs.ledger.violated(`Entry ${entry.number}: an intent with its op_id is open (V3).`);
    }
    opIds.add(entry.opId);
    this.#open.set(entry.opId, entry);
  }

  #closed(entry: LedgerEntry): void {
    const { proofs, before } = this.#premises;
    const { number, opId } = entry;
    const intent = this.#open.get(opId);
    this.#open.delete(opId);
    if (intent === undefined && before.number > 0) {
      proofs.ledger.noted("outcomes of intents before the first entry");
    } else if (intent === undefined) {
      proofs.ledger.violated(`Entry ${number}: no open intent has its op_id (V3).`);
    } else {
      const other = sameInBoth.find((name) => intent[name] !== entry[name]);
      if (other !== undefined) {
        proofs.ledger.violated(`Entry ${number}: its ${other} is not that of its intent (V3).`);
      }
    }
    if (entry.result === "unknown") proofs.artefacts.noted("outcomes unknown after a crash");
    if (entry.result !== "success") this.#failed.add(nameOf(entry));
    else if (entry.operation === "sign") this.#signed(entry);
  }

  #signed(entry: LedgerEntry): void {
    const { artefacts } = this.#premises.proofs;
    artefacts.checked += 1;
    if (entry.purpose === "self_test") this.#selfTested(entry);
    else if (paired.has(entry.purpose)) this.#pair(entry);
    else artefacts.noted(`of purpose ${entry.purpose || entry.role}, whose octets are not kept`);
  }

  #pair(entry: LedgerEntry): void {
    const { proofs, pairs, since } = this.#premises;
    const found = pairs.mark(pairOfEntry(entry));
    if (found === "first") return;
    const at = parseTimestamp(entry.timestamp);
    if (at !== undefined && at < since) return;
    if (found === "again") {
      const fault = "an earlier one has signed this artefact (V8)";
      proofs.artefacts.violated(`Entry ${entry.number}: ${fault}.`);
    } else this.#missing(entry);
  }

  #missing(entry: LedgerEntry): void {
    const { proofs, newestList, isStoredList, isKnownCa, pruned } = this.#premises;
    const { caId, artifact, purpose } = entry;
    if (certificatePurposes.has(purpose) && pruned.has(prunedText(caId, artifact))) {
      proofs.artefacts.noted("pruned certificates, unproven");
      return;
    }
    if (purpose === "csr" && !isKnownCa(caId)) {
      proofs.artefacts.noted("requests of CAs that were deleted");
      return;
    }
    const list =
      purpose === "crl" || purpose === "delta_crl" ? /^(.*)#(\d+)$/.exec(artifact) : null;
    if (list !== null && !isStoredList(caId, artifact)) {
      const newest = newestList(caId, list[1] ?? "");
      if (newest !== undefined && Number(list[2]) < newest) {
        proofs.artefacts.noted("lists that others have taken the place of");
        return;
      }
    }
    if (this.#absent.length < absentMax) this.#absent.push(entry);
    else proofs.artefacts.violated(absentText(entry));
  }

  /** Nothing else remembers a self-test: its outcome carries the request that was signed. */
  #selfTested(entry: LedgerEntry): void {
    const { artefacts } = this.#premises.proofs;
    const fault = requestFault(entry, this.#premises.keys);
    if (fault !== undefined) artefacts.violated(`Entry ${entry.number}: ${fault} (V5).`);
  }

  #counted({ number, signerFingerprint: key, count, total, result }: LedgerEntry): void {
    const { proofs, before } = this.#premises;
    const previous = this.totals.get(key) ?? (before.number === 0 ? 0 : undefined);
    this.totals.set(key, Number(total));
    if (previous === undefined) proofs.ledger.noted("counts with nothing before to add to");
    else if (result !== "" || count === "" || previous + Number(count) !== Number(total)) {
      proofs.ledger.violated(`Entry ${number}: its total is not ${previous} and ${count} (V7).`);
    }
  }
}

function requestFault(entry: LedgerEntry, keys: SignatureKeys): string | undefined {
  try {
    const der = Uint8Array.fromBase64(entry.artifact);
    const artefact = requestArtefact(der);
    if (typeof artefact === "string") return artefact;
    const [signature] = artefact.signatures;
    const spki = artefact.keys.find((one) => fingerprint(one) === entry.signerFingerprint);
    if (signature === undefined || spki === undefined) return "its self-test is of another key";
    const same = sha256Hex(signature.covered) === entry.digest;
    const valued = sha256Hex(signature.value) === entry.signatureSha256;
    if (!same || !valued) return "the octets of its self-test have another digest";
    return keys.verifies(spki, signature) ? undefined : "its self-test does not verify";
  } catch {
    // Neither base64 nor a request.
    return "its self-test cannot be read";
  }
}

const nameOf = ({ caId, artifact }: Pick<LedgerEntry, "caId" | "artifact">): string =>
  `${caId}|${artifact}`;

const absentText = ({ number, purpose, caId, artifact }: LedgerEntry): string =>
  `Entry ${number} signed the ${purpose.replaceAll("_", " ")} ${artifact} of CA ${caId}, which is nowhere, or is not what was signed (V4, V5).`;

const announcing: ReadonlySet<string> = new Set(["generate", "import", "find"]);
/** Purposes whose artefacts are stored. */
const paired: ReadonlySet<string> = new Set([...certificatePurposes, "crl", "delta_crl", "csr"]);
const absentMax = 10_000;
