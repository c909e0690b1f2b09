/** The entries of the sign ledger: an operation before and after its key is used, and each key. */

import type { KeyRole, LedgerDraft, LedgerEntry } from "#core/audit/ledger.ts";
import { sha256Hex } from "#core/crypto.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { fingerprint } from "#core/x509/public-keys.ts";
import type { KeyHandle } from "#domain/keys.ts";
import type { Unit } from "#domain/store.ts";

/** What both entries of an operation say. */
export type EntryFacts = Omit<LedgerDraft, "kind" | "timestamp" | "result">;

/** The signature made, or the closed word for why there is none. */
export type Outcome = { readonly signature: Uint8Array } | { readonly error: string };

/** Writes the intent inside the unit. */
export async function openEntry(tx: Unit, facts: EntryFacts, at: Instant): Promise<void> {
  await tx.audit.appendLedger({ ...facts, kind: "intent", timestamp: timestamp(at) });
}

/** Writes the outcome inside the unit. */
export async function closeEntry(
  tx: Unit,
  facts: EntryFacts,
  outcome: Outcome,
  at: Instant,
): Promise<void> {
  const result =
    "signature" in outcome
      ? { result: "success" as const, signatureSha256: sha256Hex(outcome.signature) }
      : { result: "error" as const, error: outcome.error };
  await tx.audit.appendLedger({ ...facts, ...result, kind: "outcome", timestamp: timestamp(at) });
}

/**
 * Closes an intent whose outcome a crash lost (KEY-7); its artefact is treated as possibly
 * existing.
 */
export async function closeUnknown(tx: Unit, intent: LedgerEntry, at: Instant): Promise<void> {
  const { number: _number, prevHash: _prevHash, hash: _hash, ...facts } = intent;
  const outcome = { kind: "outcome", result: "unknown", timestamp: timestamp(at) } as const;
  await tx.audit.appendLedger({ ...facts, ...outcome });
}

/** Announces a key in the ledger before its first use (rule V9). */
export async function announceKey(
  tx: Unit,
  handle: KeyHandle,
  role: KeyRole,
  operation: "generate" | "import" | "find" | "destroy",
  at: Instant,
): Promise<void> {
  await tx.audit.appendLedger({
    kind: "key",
    timestamp: timestamp(at),
    provider: handle.ref.provider,
    role,
    operation,
    deviceSerial: handle.deviceSerial,
    keyLabel: handle.ref.label,
    signerFingerprint: fingerprint(handle.spki),
  });
}
