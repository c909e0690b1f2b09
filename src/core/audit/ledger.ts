/** The sign ledger: one entry before and one after every operation with a CA key, hash-chained. */

import { chainedHash } from "./chain.ts";

/** What an entry is about. */
export const ledgerKinds = ["genesis", "key", "intent", "outcome", "count"] as const;
export type LedgerKind = (typeof ledgerKinds)[number];
/** What a key is for. */
export const keyRoles = ["ca", "ssh", "responder", "tsa", "kek", "ledger"] as const;
export type KeyRole = (typeof keyRoles)[number];
/** What is signed. */
export const signPurposes = [
  "certificate",
  "precertificate",
  "ca_certificate",
  "cross_certificate",
  "responder_certificate",
  "crl",
  "delta_crl",
  "ocsp",
  "csr",
  "ssh_certificate",
  "protocol_reply",
  "self_test",
] as const;
export type SignPurpose = (typeof signPurposes)[number];
/** What is done with a key. */
export const keyOperations = ["sign", "decrypt", "generate", "import", "find", "destroy"] as const;
/** What came of an operation; `unknown` where a crash took the outcome. */
export const ledgerResults = ["success", "error", "unknown"] as const;

/** An entry as stored, shown and hashed; absent members are empty text (LED-1). */
export interface LedgerEntry {
  readonly number: number;
  readonly timestamp: string;
  readonly kind: LedgerKind;
  readonly opId: string;
  readonly provider: string;
  readonly deviceSerial: string;
  readonly keyLabel: string;
  readonly signerFingerprint: string;
  readonly role: KeyRole | "";
  readonly operation: (typeof keyOperations)[number] | "";
  readonly algorithm: string;
  /** 64 hex: SHA-256 of the exact octets to be signed. */
  readonly digest: string;
  readonly purpose: SignPurpose | "";
  readonly caId: string;
  readonly artifact: string;
  readonly result: (typeof ledgerResults)[number] | "";
  readonly signatureSha256: string;
  readonly error: string;
  readonly count: string;
  readonly total: string;
  readonly prevHash: string;
  readonly hash: string;
}

/** Everything the writer of an entry says; number, links and hash come from the ledger. */
export type LedgerDraft = Partial<Omit<LedgerEntry, "number" | "prevHash" | "hash">> &
  Pick<LedgerEntry, "timestamp" | "kind">;

/** Lower hex SHA-256 over the canonical bytes of an entry (LED-1). */
export function ledgerHash(entry: Omit<LedgerEntry, "hash">): string {
  return chainedHash("pkid/ledger/1", entry.number, [
    entry.prevHash,
    entry.timestamp,
    entry.kind,
    entry.opId,
    entry.provider,
    entry.deviceSerial,
    entry.keyLabel,
    entry.signerFingerprint,
    entry.role,
    entry.operation,
    entry.algorithm,
    entry.digest,
    entry.purpose,
    entry.caId,
    entry.artifact,
    entry.result,
    entry.signatureSha256,
    entry.error,
    entry.count,
    entry.total,
  ]);
}
