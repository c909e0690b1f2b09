/** Opens and closes sign-ledger entries: the only place where a ticket for a CA key is made. */

import type { KeyRole, LedgerEntry, SignPurpose } from "#core/audit/ledger.ts";
import { sha256Hex } from "#core/crypto.ts";
import type { CaId } from "#core/ids.ts";
import { type Instant, timestamp } from "#core/time.ts";
import type { SignatureName } from "#core/x509/algorithms.ts";
import { fingerprint } from "#core/x509/public-keys.ts";
import type { KeyHandle, KeyRef, SignTicket } from "#domain/keys.ts";
import type { Unit } from "#domain/store.ts";

/** What is going to be signed, with which key, for which artefact. */
export interface SigningIntent {
  readonly opId: string;
  readonly key: KeyRef;
  /** SubjectPublicKeyInfo of the key, DER. */
  readonly spki: Uint8Array;
  readonly deviceSerial: string;
  readonly role: KeyRole;
  readonly algorithm: SignatureName;
  /** The octets to be signed. */
  readonly message: Uint8Array;
  readonly purpose: SignPurpose;
  readonly caId: CaId | undefined;
  /** Serial, or `<scope>#<crl number>`. */
  readonly artifact: string;
}

/**
 * The same for octets that are too long to be hashed inside a unit: they come in pieces, with their
 * SHA-256 in lower hex.
 */
export interface LongIntent extends Omit<SigningIntent, "message"> {
  readonly message: { readonly pieces: readonly Uint8Array[]; readonly digest: string };
}

type Intent = SigningIntent | LongIntent;

/**
 * Writes the intent inside the unit; the ticket may be used only after the unit has committed
 * (KEY-5).
 */
export async function openTicket(tx: Unit, intent: Intent, at: Instant): Promise<SignTicket> {
  const digest = digestOf(intent);
  await tx.audit.appendLedger({
    ...entryFacts(intent, digest),
    kind: "intent",
    timestamp: timestamp(at),
  });
  return ticket(intent, digest);
}

/**
 * Writes the outcome inside the unit: the signature made, or the closed word for why there is none.
 */
export async function closeTicket(
  tx: Unit,
  intent: Intent,
  outcome: { readonly signature: Uint8Array } | { readonly error: string },
  at: Instant,
): Promise<void> {
  const facts = entryFacts(intent, digestOf(intent));
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

/** A ticket for a key whose operations are counted, not listed: responder and TSA keys (KEY-5). */
export function countedTicket(
  intent: Omit<SigningIntent, "artifact" | "spki" | "deviceSerial" | "role"> & {
    readonly role: "responder" | "tsa";
  },
): SignTicket {
  return ticket(intent, digestOf(intent));
}

/**
 * A ticket for a document the ledger key vouches for; it signs nothing that a CA key could be asked
 * for.
 */
export const documentTicket = (of: {
  readonly opId: string;
  readonly key: KeyRef;
  readonly digest: string;
}): SignTicket => ({
  ...of,
  role: "ledger",
  algorithm: "ed25519",
  purpose: "document",
  caId: undefined,
  brand: "SignTicket",
});

const digestOf = ({ message }: Pick<Intent, "message">): string =>
  message instanceof Uint8Array ? sha256Hex(message) : message.digest;

function ticket(
  intent: Omit<Intent, "artifact" | "spki" | "deviceSerial" | "message">,
  digest: string,
): SignTicket {
  const { opId, key, role, algorithm, purpose, caId } = intent;
  return { opId, key, role, algorithm, digest, purpose, caId, brand: "SignTicket" };
}

function entryFacts(intent: Intent, digest: string) {
  return {
    opId: intent.opId,
    provider: intent.key.provider,
    deviceSerial: intent.deviceSerial,
    keyLabel: intent.key.label,
    signerFingerprint: fingerprint(intent.spki),
    role: intent.role,
    operation: "sign" as const,
    algorithm: intent.algorithm,
    digest,
    purpose: intent.purpose,
    caId: intent.caId ?? "",
    artifact: intent.artifact,
  };
}
