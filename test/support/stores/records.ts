/** Records for the store, complete and distinct; a test names only what it is about. */

import type { EventDraft } from "#core/audit/actions.ts";
import type { LedgerDraft } from "#core/audit/ledger.ts";
import { caId, defaultTenant, type Serial, serialFromBytes, tenantId } from "#core/ids.ts";
import { instant, timestamp } from "#core/time.ts";
import type { ApiTokenRecord } from "#domain/access/store.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { CertificateRecord, IntentRecord } from "#domain/certificates/store.ts";
import type { CrlHead, ResponderRecord, RevocationRecord } from "#domain/revocation/store.ts";
import type { Store, Unit } from "#domain/store.ts";
import { type TenantRecord, unlimited } from "#domain/tenants/store.ts";
import { ownPerson } from "#core/access/person.ts";

/** 2026-06-01T12:00:00Z, the moment of every record that names no other. */
export const noon = instant(Date.parse("2026-06-01T12:00:00Z"));
const year = 365 * 86_400_000;

/** A fresh serial, as a CSPRNG would draw it. */
export const newSerial = (): Serial =>
  serialFromBytes(crypto.getRandomValues(new Uint8Array(16)).with(0, 0x5a));

export function ca(facts: Partial<CaRecord> = {}): CaRecord {
  const id = facts.id ?? caId(crypto.randomUUID());
  return {
    id,
    tenant: defaultTenant,
    label: `ca ${id}`,
    parent: undefined,
    lineage: id,
    status: "active",
    key: { provider: "software", label: `key ${id}`, id: "aa".repeat(20) },
    keyType: "ecdsa-p256",
    spki: Uint8Array.of(48, 1, 255),
    subject: "CN=Test CA",
    certificate: Uint8Array.of(48, 2, 0),
    serial: newSerial(),
    maxPathLength: undefined,
    notBefore: noon,
    notAfter: instant(noon + 10 * year),
    createdAt: noon,
    internal: false,
    ...noRollover,
    ...facts,
  };
}

/** A CA that has never been rolled over nor certified from outside. */
export const noRollover = {
  csr: undefined,
  externalChain: undefined,
  successor: undefined,
  predecessor: undefined,
  retireAfter: undefined,
};

export function certificate(facts: Partial<CertificateRecord> = {}): CertificateRecord {
  return {
    id: crypto.randomUUID(),
    caId: caId("ca"),
    tenant: defaultTenant,
    serial: newSerial(),
    kind: "leaf",
    subject: "CN=a.example",
    commonName: "a.example",
    sans: ["dns:a.example", "ip:192.0.2.1"],
    profile: "tls-server",
    certificate: Uint8Array.of(48, 3, 0, 255),
    notBefore: noon,
    notAfter: instant(noon + year),
    status: "good",
    revokedAt: undefined,
    reason: undefined,
    requestedBy: "root",
    createdAt: noon,
    spkiSha256: "ab".repeat(32),
    marker: "",
    ...facts,
  };
}

export function intentFor(row: CertificateRecord, facts: Partial<IntentRecord> = {}): IntentRecord {
  return {
    opId: crypto.randomUUID(),
    caId: row.caId,
    serial: row.serial,
    purpose: "certificate",
    tbsDigest: "cd".repeat(32),
    requestedBy: "root",
    createdAt: noon,
    state: "intended",
    ...facts,
  };
}

export function token(facts: Partial<ApiTokenRecord> = {}): ApiTokenRecord {
  const id = crypto.randomUUID();
  return {
    id,
    name: "ci",
    description: "",
    prefix: "pkid_ab",
    tokenHash: id.replaceAll("-", ""),
    roles: ["issuer", "auditor"],
    scope: "tenant",
    tenant: defaultTenant,
    createdBy: "root",
    createdByName: "",
    person: ownPerson("root"),
    createdAt: noon,
    expiresAt: undefined,
    lastUsedAt: undefined,
    lastUsedIp: "",
    revokedAt: undefined,
    revokedBy: "",
    ...facts,
  };
}

export function revocation(
  facts: Partial<RevocationRecord> = {},
): Omit<RevocationRecord, "sequence"> {
  return {
    caId: caId("ca"),
    serial: newSerial(),
    revokedAt: noon,
    reason: "keyCompromise",
    known: true,
    expiresAt: instant(noon + year),
    ...facts,
  };
}

export function crl(facts: Partial<CrlHead> = {}): CrlHead {
  return {
    caId: caId("ca"),
    scope: "full",
    number: 1,
    thisUpdate: noon,
    sequence: 0,
    entries: 0,
    base: undefined,
    size: 2,
    modulus: 0,
    urls: [],
    prior: undefined,
    publishedAt: instant(noon + 300_000),
    nextUpdate: instant(noon + 86_400_000),
    sha256: "ef".repeat(32),
    ...facts,
  };
}

export function responder(facts: Partial<ResponderRecord> = {}): ResponderRecord {
  return {
    caId: caId("ca"),
    serial: newSerial(),
    keyLabel: "responder",
    keyId: "bb".repeat(20),
    keyProvider: "software",
    certificate: Uint8Array.of(48, 4),
    notBefore: noon,
    notAfter: instant(noon + year),
    ...facts,
  };
}

export function draft(facts: Partial<EventDraft> = {}): EventDraft {
  return { action: "cert.issue", result: "success", actor: "root", ...facts };
}

export function ledgerDraft(kind: "intent" | "outcome", opId: string): LedgerDraft {
  const result = kind === "outcome" ? ({ result: "success" } as const) : {};
  return {
    kind,
    opId,
    timestamp: timestamp(noon),
    provider: "software",
    role: "ca",
    operation: "sign",
    algorithm: "ecdsa-sha256",
    digest: "12".repeat(32),
    ...result,
  };
}

/** Issues as the ceremony does: one unit before the signature, one after it. */
export async function issue(store: Store, row: CertificateRecord): Promise<void> {
  const intent = intentFor(row);
  await store.atomically((tx) => intend(tx, intent));
  await store.atomically((tx) => activate(tx, intent, row));
}

export async function intend(tx: Unit, intent: IntentRecord): Promise<void> {
  if (!(await tx.certificates.intend(intent))) throw new Error("the serial was used before");
  await tx.audit.appendLedger(ledgerDraft("intent", intent.opId));
}

export async function activate(
  tx: Unit,
  intent: IntentRecord,
  row: CertificateRecord,
): Promise<void> {
  await tx.certificates.activate(intent.opId, row);
  await tx.audit.appendLedger(ledgerDraft("outcome", intent.opId));
  const { caId: id, serial, tenant } = row;
  await tx.audit.appendEvent(draft({ caId: id, serial, tenant }), row.createdAt);
}

/** An active tenant without quotas, whose slug and name are its id. */
export const tenant = (id: string, given: Partial<TenantRecord> = {}): TenantRecord => ({
  id: tenantId(id),
  slug: id,
  name: id,
  status: "active",
  kekLabel: "",
  quotas: unlimited,
  createdAt: instant(0),
  ...given,
});
