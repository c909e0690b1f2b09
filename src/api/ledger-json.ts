/** An entry of the sign ledger in JSON. */

import type { LedgerEntry } from "#core/audit/ledger.ts";

/** An entry as answers and documents show it; empty members are left out (LED-1). */
export function entryJson(entry: LedgerEntry) {
  const whole = (text: string) => (text === "" ? "" : Number(text));
  const optionalMembers = {
    op_id: entry.opId,
    provider: entry.provider,
    device_serial: entry.deviceSerial,
    key_label: entry.keyLabel,
    signer_fingerprint: entry.signerFingerprint,
    role: entry.role,
    operation: entry.operation,
    algorithm: entry.algorithm,
    digest: entry.digest,
    purpose: entry.purpose,
    ca_id: entry.caId,
    artifact: entry.artifact,
    result: entry.result,
    signature_sha256: entry.signatureSha256,
    error: entry.error,
    count: whole(entry.count),
    total: whole(entry.total),
  };
  const present = Object.entries(optionalMembers).filter(([, value]) => value !== "");
  return {
    number: entry.number,
    timestamp: entry.timestamp,
    kind: entry.kind,
    ...Object.fromEntries(present),
    prev_hash: entry.prevHash,
    hash: entry.hash,
  };
}
