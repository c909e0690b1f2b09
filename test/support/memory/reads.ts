/** What the memory store answers to reads: the same filters and orders every store must have. */

import { sha256Hex } from "#core/crypto.ts";
import { coversCa, coversTenant } from "#core/access/principal.ts";
import { type CaId, parseSerial, type TenantId } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import { fits } from "#domain/audit/event-filter.ts";
import type { AccessLogFilter, AccessLogRow } from "#domain/audit/store.ts";
import type { CaFilter, CaRecord, CrossSignRecord } from "#domain/authorities/store.ts";
import type { CertificateFilter, CertificateRecord } from "#domain/certificates/store.ts";
import type { Reads } from "#domain/store.ts";
import { acmeReads } from "./acme.ts";
import { approvalReads } from "./approvals.ts";
import { bulkReads } from "./bulk.ts";
import { bulkRevocationReads } from "./bulk-revocations.ts";
import { envelopeReads } from "./envelopes.ts";
import { grantReads } from "./grants.ts";
import { passkeyReads } from "./passkeys.ts";
import { keyCheckReads } from "./key-checks.ts";
import { daysOf, tenantReads } from "./tenants.ts";
import { expiryReads, isOutlived } from "./expiry.ts";
import { replacementReads } from "./replacements.ts";
import { retentionReads } from "./retention.ts";
import { presignedReads } from "./presigned.ts";
import { transparencyReads } from "./transparency.ts";
import { crlReads } from "./crls.ts";
import { headOf, type MemoryState, pageOf, serialKey } from "./state.ts";

/** Reads over the state and the access log, which no unit of work touches. */
export function memoryReads(state: MemoryState, accessLog: readonly AccessLogRow[]): Reads {
  const revocations = revocationReads(state);
  return {
    cas: casReads(state),
    certificates: certificateReads(state),
    revocations,
    retention: retentionReads(state),
    expiry: expiryReads(state),
    presigned: presignedReads(state, revocations.certStatus),
    bulk: bulkReads(state),
    bulkRevocations: bulkRevocationReads(state),
    keyChecks: keyCheckReads(state),
    transparency: transparencyReads(state),
    envelopes: envelopeReads(state),
    tenants: tenantReads(state),
    access: accessReads(state),
    approvals: approvalReads(state),
    acme: acmeReads(state),
    replacements: replacementReads(state),
    audit: auditReads(state),
    accessLog: accessLogReads(accessLog),
    instance: {
      value: async (name) => state.values.get(name),
      standing: async () => ({ place: 0, count: 1 }),
    },
  };
}

function casReads(state: MemoryState): Reads["cas"] {
  const all = () => [...state.cas.values()];
  return {
    byId: async (id) => state.cas.get(id),
    byLabel: async (label) => all().find((ca) => ca.label === label),
    page: async (filter, limit, after) =>
      pageOf(
        all().filter((ca) => !ca.internal && caMatches(filter, ca)),
        (ca) => ({ at: ca.createdAt, id: ca.id }),
        limit,
        after,
      ),
    lineage: async (id) =>
      all()
        .filter((ca) => ca.lineage === id)
        .sort((a, b) => a.createdAt - b.createdAt),
    withKey: async (spki) => all().filter((ca) => Buffer.compare(ca.spki, spki) === 0),
    signing: async () => all().filter((ca) => ca.certificate !== undefined),
    under: async (lineages, subtrees) => {
      const wide = new Set<string>(subtrees);
      const below = (ca: CaRecord | undefined): boolean =>
        ca !== undefined && (wide.has(ca.lineage) || below(state.cas.get(ca.parent ?? "")));
      const covered = all().filter((ca) => lineages.includes(ca.lineage) || below(ca));
      return covered.filter((ca) => !ca.internal).map(({ id }) => id);
    },
    hasChildren: async (id) => all().some((ca) => ca.parent === id),
    ...crossSignReads(state),
  };
}

function crossSignReads(state: MemoryState): Pick<Reads["cas"], CrossSignRead> {
  const all = () =>
    [...state.crossSigns.values()].flatMap((facts): CrossSignRecord[] => {
      const row = state.certificates.get(serialKey(facts.issuer, facts.serial));
      if (row === undefined) return [];
      const { tenant, subject, certificate, notBefore, notAfter, requestedBy } = row;
      const said = { tenant, subject, certificate, notBefore, notAfter, requestedBy };
      return [{ ...facts, ...said, revoked: row.status === "revoked" }];
    });
  const keyOf = (cross: CrossSignRecord) => ({ at: cross.createdAt, id: cross.id });
  return {
    crossSigns: async (issuer, limit, after) =>
      pageOf(
        all().filter((cross) => cross.issuer === issuer),
        keyOf,
        limit,
        after,
      ),
    crossSign: async (id) => all().find((cross) => cross.id === id),
    crossSignsOf: async (subject) => all().filter((cross) => cross.subjectCa === subject),
  };
}

type CrossSignRead = "crossSigns" | "crossSign" | "crossSignsOf";

function caMatches(filter: CaFilter, ca: CaRow): boolean {
  if (!coversCa(filter.reach, ca)) return false;
  if (filter.tenant !== undefined && ca.tenant !== filter.tenant) return false;
  if (filter.status !== undefined && ca.status !== filter.status) return false;
  if (filter.parent !== undefined && ca.parent !== filter.parent) return false;
  return filter.text === undefined || contains([ca.label, ca.subject], filter.text);
}

type CaRow = {
  readonly id: CaId;
  readonly tenant: TenantId;
  readonly label: string;
  readonly subject: string;
  readonly status: string;
  readonly parent: string | undefined;
};

/** With the DER that is in the archive. */
function whole(
  { archived }: MemoryState,
  row: CertificateRecord | undefined,
): CertificateRecord | undefined {
  const certificate = row && archived.get(serialKey(row.caId, row.serial));
  return row && certificate ? { ...row, certificate } : row;
}

function certificateReads(state: MemoryState): Reads["certificates"] {
  return {
    bySerial: async (ca, serial) => whole(state, state.certificates.get(serialKey(ca, serial))),
    page: async (filter, limit, after) => {
      const ordinals = new Map([...state.certificates.values()].map((row, at) => [row, at + 1]));
      const found = [...ordinals.keys()].filter((row) =>
        certificateMatches(filter, whole(state, row) ?? row),
      );
      const page = pageOf(found, (row) => ({ at: ordinals.get(row) ?? 0, id: "" }), limit, after);
      return { ...page, items: page.items.map((row) => whole(state, row) ?? row) };
    },
    superseded: async (ca, serials) =>
      new Set(
        serials.filter((serial) => {
          const row = state.certificates.get(serialKey(ca, serial));
          return row !== undefined && isOutlived(state, row);
        }),
      ),
    ...intentReads(state),
    days: async (cas, firstDay) =>
      daysOf(
        [...state.certificates.values()].filter(
          ({ kind, caId }) => kind === "leaf" && cas.includes(caId),
        ),
        firstDay,
      ),
    statusCounts: async (cas, now) => {
      const counts = { good: 0, held: 0, revoked: 0, expired: 0 };
      for (const { kind, caId, status, notAfter } of state.certificates.values()) {
        if (kind !== "leaf" || !cas.includes(caId)) continue;
        counts[status === "good" && notAfter < now ? "expired" : status] += 1;
      }
      return counts;
    },
    signedBeyond: async (ca, own) =>
      [...state.intents.values()].some(
        ({ caId, serial, purpose }) =>
          caId === ca && serial !== own && purpose !== "responder_certificate",
      ) || [...state.crlReservations.keys()].some((key) => key.startsWith(`${ca}/`)),
    profileSeen: async (profile, reach) =>
      [...state.certificates.values()].some(
        (row) =>
          row.profile === profile &&
          row.kind === "leaf" &&
          coversCa(reach, { id: row.caId, tenant: row.tenant }),
      ),
  };
}

function intentReads(state: MemoryState): Pick<Reads["certificates"], "orphans" | "outstanding"> {
  return {
    orphans: async (ca, limit, after) =>
      pageOf(
        [...state.intents.values()].filter(
          (intent) => intent.caId === ca && intent.state === "orphaned",
        ),
        (intent) => ({ at: intent.createdAt, id: intent.opId }),
        limit,
        after,
      ),
    outstanding: async (ca, now) => {
      const living = [...state.certificates.values()].filter(
        ({ caId, kind, status, notAfter }) =>
          caId === ca && kind !== "responder" && status !== "revoked" && notAfter >= now,
      );
      const signing = [...state.intents.values()].filter(
        (intent) =>
          intent.caId === ca &&
          intent.state === "intended" &&
          intent.purpose !== "responder_certificate",
      );
      const latest = Math.max(...living.map(({ notAfter }) => notAfter));
      return {
        count: living.length + signing.length,
        latestNotAfter: living.length === 0 ? undefined : instant(latest),
      };
    },
  };
}

function certificateMatches(filter: CertificateFilter, row: CertificateRecord): boolean {
  const { profile, text, serialPrefix, expiresBefore, spkiSha256, requestedBy, sha256 } = filter;
  if (row.caId !== filter.caId || row.kind !== "leaf") return false;
  if (profile !== undefined && row.profile !== profile) return false;
  if (spkiSha256 !== undefined && row.spkiSha256 !== spkiSha256) return false;
  if (sha256 !== undefined && row.certificate.length === 0) return false;
  if (sha256 !== undefined && sha256Hex(row.certificate) !== sha256) return false;
  if (requestedBy !== undefined && row.requestedBy !== requestedBy) return false;
  if (expiresBefore !== undefined && row.notAfter >= expiresBefore) return false;
  if (serialPrefix !== undefined && !startsWith(row.serial, serialPrefix)) return false;
  if (text !== undefined && !spells(text, row)) return false;
  if (filter.status === undefined) return true;
  const expired = row.status === "good" && row.notAfter < filter.now;
  return filter.status === (expired ? "expired" : row.status);
}

function spells(text: string, row: CertificateRecord): boolean {
  if (contains([row.subject, row.commonName, ...row.sans], text)) return true;
  try {
    return parseSerial(text) === row.serial;
  } catch {
    return false; // Not a serial in any spelling.
  }
}

const startsWith = (serial: string, prefix: string) =>
  prefix.startsWith("0x")
    ? BigInt(serial).toString(16).startsWith(prefix.slice(2).toLowerCase())
    : serial.startsWith(prefix);

function revocationReads(state: MemoryState): Reads["revocations"] {
  return {
    bySerial: async (ca, serial) => state.revocations.get(serialKey(ca, serial)),
    certStatus: async (ca, serial) => {
      const row = state.revocations.get(serialKey(ca, serial));
      const profile = state.certificates.get(serialKey(ca, serial))?.profile;
      if (row) return { status: "revoked", at: row.revokedAt, reason: row.reason, profile };
      return profile === undefined ? { status: "unknown" } : { status: "good", profile };
    },
    page: async ({ caId, serialPrefix = "" }, limit, after) =>
      pageOf(
        [...state.revocations.values()].filter(
          (row) => row.caId === caId && startsWith(row.serial, serialPrefix),
        ),
        (row) => ({ at: row.sequence, id: row.serial }),
        limit,
        after,
      ),
    sequence: () => state.counters.get("revocation") ?? 0,
    lastChange: async (ca) => state.counters.get(ca) ?? 0,
    ...crlReads(state),
    responder: async (ca, at) =>
      [...state.responders.values()]
        .filter(({ caId, notBefore }) => caId === ca && notBefore <= (at ?? notBefore))
        .sort((a, b) => b.notBefore - a.notBefore)[0],
  };
}

function accessReads(state: MemoryState): Reads["access"] {
  const all = () => [...state.apiTokens.values()];
  return {
    apiTokenByHash: async (hash) => all().find((apiToken) => apiToken.tokenHash === hash),
    apiTokenById: async (id) => state.apiTokens.get(id),
    tokens: async (reach, tenant, limit, after) =>
      pageOf(
        all().filter(
          (apiToken) =>
            coversTenant(reach, apiToken.tenant) &&
            (tenant === undefined || apiToken.tenant === tenant),
        ),
        (apiToken) => ({ at: apiToken.createdAt, id: apiToken.id }),
        limit,
        after,
      ),
    ...grantReads(state),
    ...passkeyReads(state),
    activeApiTokens: async (now) =>
      all().filter(
        (apiToken) => apiToken.revokedAt === undefined && (apiToken.expiresAt ?? now + 1) > now,
      ).length,
  };
}

function auditReads(state: MemoryState): Reads["audit"] {
  return {
    events: async (filter, limit, beforeSeq) => {
      const all = [...state.events.values()].filter((event) => fits(filter, event));
      const after = beforeSeq === undefined ? undefined : { at: beforeSeq, id: "" };
      return pageOf(all, (event) => ({ at: event.seq, id: "" }), limit, after);
    },
    eventsAfter: async (afterSeq, limit) =>
      [...state.events.values()].slice(afterSeq, afterSeq + limit),
    eventsWithin: async (filter, { after, through }, limit) =>
      [...state.events.values()]
        .slice(after, through)
        .filter((event) => fits(filter, event))
        .slice(0, limit),
    newestWithin: async (filter, { after, through }, most) => {
      const all = [...state.events.values()].slice(after, through);
      const fitting = all.filter((event) => fits(filter, event));
      const before = Math.max(0, fitting.length - most);
      return { after: before === 0 ? after : (fitting[before - 1]?.seq ?? after), before };
    },
    eventHead: async () => headOf(state.events),
    ledger: async (filter, limit, beforeNumber) => {
      const { kind, signerFingerprint, fromNumber = 1, toNumber = Infinity } = filter;
      const all = [...state.ledger.values()].filter(
        (entry) =>
          (kind === undefined || entry.kind === kind) &&
          (signerFingerprint === undefined || entry.signerFingerprint === signerFingerprint) &&
          entry.number >= fromNumber &&
          entry.number <= toNumber,
      );
      const after = beforeNumber === undefined ? undefined : { at: beforeNumber, id: "" };
      return pageOf(all, (entry) => ({ at: entry.number, id: "" }), limit, after);
    },
    ledgerAfter: async (afterNumber, limit) =>
      [...state.ledger.values()].slice(afterNumber, afterNumber + limit),
    ledgerHead: async () => headOf(state.ledger),
    openLedgerIntents: async (limit) => {
      const entries = [...state.ledger.values()];
      const closed = new Set(entries.filter((e) => e.kind === "outcome").map((e) => e.opId));
      return entries.filter((e) => e.kind === "intent" && !closed.has(e.opId)).slice(0, limit);
    },
  };
}

const contains = (texts: readonly string[], part: string) =>
  texts.some((text) => text.toLowerCase().includes(part.toLowerCase()));

function accessLogReads(rows: readonly AccessLogRow[]): Reads["accessLog"] {
  return {
    page: async (filter, limit, after) => {
      const numbered = rows.map((row, at) => ({ ...row, id: at + 1 }));
      const matching = numbered.filter((row) => logged(filter, row));
      return pageOf(matching, ({ id }) => ({ at: id, id: "" }), limit, after);
    },
  };
}

function logged(filter: AccessLogFilter, row: AccessLogRow): boolean {
  const { subject, status, pathPrefix = "", from = 0, to = Number.POSITIVE_INFINITY } = filter;
  if (subject !== undefined && row.subject !== subject) return false;
  if (status !== undefined && row.status !== status) return false;
  return row.path.startsWith(pathPrefix) && row.at >= from && row.at < to;
}
