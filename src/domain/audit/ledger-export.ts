/**
 * Hands the sign ledger out under the signature of its own key, for whoever trusts nothing else of
 * pkid (LED-3).
 */

import { type ExportedRange, exportMessage } from "#core/audit/ledger-export.ts";
import type { LedgerEntry } from "#core/audit/ledger.ts";
import { sha256 } from "#core/crypto.ts";
import { serialFromBytes } from "#core/ids.ts";
import { assert, refuse } from "#core/problems.ts";
import { instant, parseTimestamp, timestamp, wholeSecond } from "#core/time.ts";
import { assembleSigned, encodeTbsCertificate } from "#core/x509/certificate.ts";
import {
  basicConstraints,
  keyUsage,
  subjectKeyId,
  subjectKeyIdentifier,
} from "#core/x509/extensions.ts";
import { encodeName } from "#core/x509/names.ts";
import { ledgerKey, signDocument } from "#domain/signing/document.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { KeyHandle, Keys } from "#domain/keys.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";

export interface LedgerExportDeps {
  readonly store: Store;
  readonly keys: Pick<Keys, "facts" | "find" | "sign">;
  readonly clock: Clock;
  readonly random: Pick<Random, "uuid">;
  /** Where CA keys are made: the document names its device. */
  readonly provider: ProviderName;
}

/** A range of the ledger that is going to be handed out. */
export interface OpenedExport {
  readonly range: Omit<ExportedRange, "exportedAt" | "operationsSha256">;
  /** DER of the self-signed certificate of the ledger key. */
  readonly certificate: Uint8Array;
  /**
   * Signs what was read; the digest of the operations makes it the signature of a combined
   * document.
   */
  sign(operationsSha256?: string): Promise<SignedExport>;
}

export interface SignedExport {
  readonly exportedAt: string;
  readonly signature: Uint8Array;
}

/**
 * Looks the range up: both numbers are inclusive, and one behind the head means the head. Counts of
 * operations that no entry tells yet come with a later export, as looking changes nothing. Refuses
 * `bad_query` for a range that holds nothing, `key_unavailable`.
 */
export async function openExport(
  deps: LedgerExportDeps,
  wanted: { readonly from: number | undefined; readonly to: number | undefined },
): Promise<OpenedExport> {
  const { store, keys, provider } = deps;
  const head = await store.read.audit.ledgerHead();
  const firstNumber = wanted.from ?? 1;
  const lastNumber = Math.min(wanted.to ?? head.seq, head.seq);
  if (firstNumber > lastNumber) {
    throw refuse("bad_query", {
      parameter: "from_number",
      reason: `the ledger has no entry from ${firstNumber} to ${wanted.to ?? head.seq}`,
    });
  }
  const [first, last] = [await entryAt(store, firstNumber), await entryAt(store, lastNumber)];
  const [genesis] = await store.read.audit.ledgerAfter(0, 1);
  const ref = await ledgerKey(store);
  assert(ref !== undefined && genesis !== undefined, "an instance has begun its ledger");
  const key = await keys.find(ref);
  const ledgerId = (await store.read.instance.value("ledger_id")) ?? "";
  const device = (await keys.facts()).find((facts) => facts.provider === provider);
  const range = {
    ledgerId,
    provider,
    deviceSerial: device?.deviceSerial ?? "",
    firstNumber,
    lastNumber,
    firstPrevHash: first.prevHash,
    lastHash: last.hash,
  };
  const certificate = await ledgerCertificate(deps, key, ledgerId, genesis);
  const sign = async (operationsSha256?: string) => {
    const exportedAt = timestamp(deps.clock.now());
    const operations = operationsSha256 === undefined ? {} : { operationsSha256 };
    const message = exportMessage({ ...range, exportedAt, ...operations });
    return { exportedAt, signature: await signDocument(deps, message) };
  };
  return { range, certificate, sign };
}

/** The entries of a range in ascending order, a page at a time. */
export async function* exportedEntries(
  store: Pick<Store, "read">,
  { firstNumber, lastNumber }: Pick<ExportedRange, "firstNumber" | "lastNumber">,
  pageRows = pageRowsMax,
): AsyncGenerator<readonly LedgerEntry[]> {
  for (let after = firstNumber - 1; after < lastNumber; after += pageRows) {
    const wanted = Math.min(pageRows, lastNumber - after);
    const page = await store.read.audit.ledgerAfter(after, wanted);
    assert(page.length === wanted, "the ledger has every number up to its head");
    yield page;
  }
}

/** What a document says of one key in its range. */
export interface KeyTally {
  role: string;
  sign: number;
  decrypt: number;
  error: number;
  unknown: number;
}

/**
 * Adds up what the entries of a range say: operations of each key, and intents that have no outcome
 * yet.
 */
export class LedgerSums {
  readonly counts = new Map<string, KeyTally>();
  readonly openIntents = new Set<string>();
  readonly labels = new Set<string>();

  /** Takes the next entry. */
  add(entry: LedgerEntry): void {
    const { kind, opId, operation, result } = entry;
    if (kind === "intent") this.openIntents.add(opId);
    if (kind === "outcome") this.openIntents.delete(opId);
    if (kind !== "outcome" && kind !== "count") return;
    const tally = this.#tallyOf(entry);
    if (result === "error" || result === "unknown") tally[result] += 1;
    else if (operation === "sign" || operation === "decrypt") {
      tally[operation] += kind === "count" ? Number(entry.count) : 1;
    }
  }

  #tallyOf({ signerFingerprint, keyLabel, role }: LedgerEntry): KeyTally {
    const known = this.counts.get(signerFingerprint);
    if (known !== undefined) return known;
    const fresh = { role, sign: 0, decrypt: 0, error: 0, unknown: 0 };
    this.counts.set(signerFingerprint, fresh);
    this.labels.add(keyLabel);
    return fresh;
  }
}

async function entryAt(store: Store, number: number): Promise<LedgerEntry> {
  const [entry] = await store.read.audit.ledgerAfter(number - 1, 1);
  assert(entry?.number === number, "the ledger has every number up to its head");
  return entry;
}

/**
 * Self-signed, CN `pkid ledger <id>`. Nothing in it changes from one export to the next, and
 * Ed25519 signs the same octets the same way, so it is made anew each time and is always the same
 * certificate.
 */
async function ledgerCertificate(
  deps: LedgerExportDeps,
  { spki }: KeyHandle,
  ledgerId: string,
  genesis: LedgerEntry,
): Promise<Uint8Array> {
  const name = encodeName([{ type: "CN", value: `pkid ledger ${ledgerId}` }]).der;
  const tbs = encodeTbsCertificate({
    serial: serialOf(spki),
    signature: "ed25519",
    issuer: name,
    notBefore: wholeSecond(parseTimestamp(genesis.timestamp) ?? instant(0)),
    notAfter: endless,
    subject: name,
    spki,
    extensions: [
      basicConstraints(false, undefined),
      keyUsage(["digitalSignature"]),
      subjectKeyIdentifier(subjectKeyId(spki, "rfc7093")),
    ],
  });
  return assembleSigned(tbs, "ed25519", await signDocument(deps, tbs));
}

/** RFC 5280 §4.1.2.2: positive and at most 20 octets. */
function serialOf(spki: Uint8Array) {
  const octets = sha256(spki).slice(0, 20);
  octets[0] = ((octets[0] ?? 0) & 0x3f) | 0x40;
  return serialFromBytes(octets);
}

/** RFC 5280 §4.1.2.5: no well-defined expiration date. */
const endless = instant(Date.UTC(9999, 11, 31, 23, 59, 59));
const pageRowsMax = 500;
