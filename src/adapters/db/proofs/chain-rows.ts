/** The rows of both chains as they are walked, oldest first: every text as it is stored. */

import type { AuditEvent } from "#core/audit/chain.ts";
import type { LedgerEntry } from "#core/audit/ledger.ts";

import type { Look } from "./look.ts";
import { paged, textOf } from "./look-rows.ts";

/** The entries behind a number, in pages. */
export async function* ledgerRows(
  { connection }: Pick<Look, "connection">,
  after: number,
): AsyncGenerator<readonly LedgerEntry[]> {
  for await (const page of paged(connection, everyEntry, [after])) yield page.map(entryOf);
}

/** The events behind a number, in pages. */
export async function* eventRows(
  { connection }: Pick<Look, "connection">,
  after: number,
): AsyncGenerator<readonly AuditEvent[]> {
  for await (const page of paged(connection, everyEvent, [after])) yield page.map(eventOf);
}

function entryOf(row: readonly unknown[]): LedgerEntry {
  const entry = {
    number: Number(row[0]),
    timestamp: text(row[1]),
    kind: text(row[2]),
    opId: text(row[3]),
    provider: text(row[4]),
    deviceSerial: text(row[5]),
    keyLabel: text(row[6]),
    signerFingerprint: text(row[7]),
    role: text(row[8]),
    operation: text(row[9]),
    algorithm: text(row[10]),
    digest: text(row[11]),
    purpose: text(row[12]),
    caId: text(row[13]),
    artifact: text(row[14]),
    result: text(row[15]),
    signatureSha256: text(row[16]),
    error: text(row[17]),
    count: text(row[18]),
    total: text(row[19]),
    prevHash: text(row[20]),
    hash: text(row[21]),
  };
  return entry as LedgerEntry; // Other words than those of its members have another hash.
}

function eventOf(row: readonly unknown[]): AuditEvent {
  return {
    seq: Number(row[0]),
    id: text(row[1]),
    timestamp: text(row[2]),
    actor: text(row[3]),
    actorName: text(row[4]),
    actorRoles: text(row[5]),
    action: text(row[6]),
    result: text(row[7]),
    tenant: text(row[8]),
    caId: text(row[9]),
    serial: text(row[10]),
    target: text(row[11]),
    targetName: text(row[12]),
    detail: text(row[13]),
    ip: text(row[14]),
    requestId: text(row[15]),
    prevHash: text(row[16]),
    hash: text(row[17]),
  };
}

/** What SQLite holds in place of a text is one whose hash is another. */
const text = (value: unknown): string => (typeof value === "string" ? value : textOf(value));

const everyEntry = `select number, timestamp, kind, op_id, provider, device_serial, key_label,
  signer_fingerprint, role, operation, algorithm, digest, purpose, ca_id, artifact, result,
  signature_sha256, error, "count", total, prev_hash, hash
from ledger where number > %1 order by number limit %2`;
const everyEvent = `select seq, id, timestamp, actor, actor_name, actor_roles, action, result,
  tenant, ca_id, serial, target, target_name, detail, ip, request_id, prev_hash, hash
from events where seq > %1 order by seq limit %2`;
