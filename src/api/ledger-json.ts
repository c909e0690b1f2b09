/** An entry of the sign ledger in JSON. */

import {
  keyOperations,
  keyRoles,
  type LedgerEntry,
  ledgerKinds,
  ledgerResults,
  signPurposes,
} from "#core/audit/ledger.ts";
import { oneOf, optional, type Output, words } from "#core/shape.ts";
import { count, fingerprintText, present, time } from "./shapes.ts";

const sha256Text = words({ pattern: "^[0-9a-f]{64}$" });

/** The members of an entry. */
export const entryShapes = {
  number: count,
  timestamp: time,
  kind: oneOf(ledgerKinds),
  op_id: optional(words()),
  provider: optional(words()),
  device_serial: optional(words()),
  key_label: optional(words()),
  signer_fingerprint: optional(fingerprintText),
  role: optional(oneOf(keyRoles)),
  operation: optional(oneOf(keyOperations)),
  algorithm: optional(words()),
  digest: optional(sha256Text),
  purpose: optional(oneOf(signPurposes)),
  ca_id: optional(words()),
  artifact: optional(words()),
  result: optional(oneOf(ledgerResults)),
  signature_sha256: optional(sha256Text),
  error: optional(words()),
  count: optional(count),
  total: optional(count),
  prev_hash: sha256Text,
  hash: sha256Text,
};

/** An entry as answers and documents show it; empty members are left out (LED-1). */
export function entryJson(entry: LedgerEntry): Output<typeof entryShapes> {
  return present<Output<typeof entryShapes>>({
    number: entry.number,
    timestamp: entry.timestamp,
    kind: entry.kind,
    op_id: said(entry.opId),
    provider: said(entry.provider),
    device_serial: said(entry.deviceSerial),
    key_label: said(entry.keyLabel),
    signer_fingerprint: said(entry.signerFingerprint),
    role: said(entry.role),
    operation: said(entry.operation),
    algorithm: said(entry.algorithm),
    digest: said(entry.digest),
    purpose: said(entry.purpose),
    ca_id: said(entry.caId),
    artifact: said(entry.artifact),
    result: said(entry.result),
    signature_sha256: said(entry.signatureSha256),
    error: said(entry.error),
    count: entry.count === "" ? undefined : Number(entry.count),
    total: entry.total === "" ? undefined : Number(entry.total),
    prev_hash: entry.prevHash,
    hash: entry.hash,
  });
}

const said = <T extends string>(member: T | ""): T | undefined =>
  member === "" ? undefined : member;
