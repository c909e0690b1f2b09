/** Model of the reads that stores serve from indexes and counters; it reads every row. */

import { coversCa } from "#core/access/principal.ts";
import type { AuditEvent } from "#core/audit/chain.ts";
import { sha256Hex } from "#core/crypto.ts";
import { parseSerial, type TenantId } from "#core/ids.ts";
import { type Instant, instant } from "#core/time.ts";
import { fits } from "#domain/audit/event-filter.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { identityOf } from "#domain/certificates/identity.ts";
import type { CertificateFilter, CertificateRecord } from "#domain/certificates/store.ts";
import type { Watched } from "#domain/expiry/store.ts";
import type { Page, PageKey } from "#domain/page.ts";
import type { Candidate } from "#domain/revocation/bulk-store.ts";
import type { Reads } from "#domain/store.ts";
import { dayOf } from "#domain/tenants/days.ts";
import type { DayUsage, Used } from "#domain/tenants/store.ts";

/** Rows in the order in which they were stored. */
export interface ModelRows {
  readonly cas: readonly CaRecord[];
  readonly certificates: readonly CertificateRecord[];
  readonly events: readonly AuditEvent[];
}

/** Reads whose results the model computes. */
export interface ModelReads {
  readonly certificates: Pick<
    Reads["certificates"],
    "page" | "superseded" | "outstanding" | "profileSeen"
  >;
  readonly expiry: Reads["expiry"];
  readonly tenants: Pick<Reads["tenants"], "used" | "usage">;
  readonly bulkRevocations: Pick<Reads["bulkRevocations"], "end" | "candidates">;
  readonly keyChecks: Pick<Reads["keyChecks"], "unrevokedWith">;
  readonly audit: Pick<Reads["audit"], "events">;
}

/** Returns reads over the rows, which the caller may change between two reads. */
export function createModelReads(rows: ModelRows): ModelReads {
  return {
    certificates: certificateReads(rows),
    expiry: expiryReads(rows),
    tenants: {
      used: async (tenant, now) => computeUse(rows, tenant, now),
      usage: async (tenant, firstDay, now) => {
        const leaves = listLeaves(rows, tenant);
        return {
          active: computeUse(rows, tenant, now).active,
          issued: leaves.length,
          revoked: leaves.filter(({ status }) => status === "revoked").length,
          cas: rows.cas.filter((ca) => ca.tenant === tenant).length,
          days: countDays(leaves).filter(({ day }) => day >= firstDay),
        };
      },
    },
    bulkRevocations: {
      end: async () => rows.certificates.length,
      candidates: async ({ caId, profile, after, upTo }, limit) => {
        const found = rows.certificates
          .map((row, at) => ({ row, ordinal: at + 1 }))
          .filter(({ row }) => row.caId === caId && row.kind === "leaf")
          .filter(({ row }) => profile === undefined || row.profile === profile)
          .filter(({ ordinal }) => ordinal > after && ordinal <= upTo)
          .slice(0, limit);
        const reached = found.length < limit ? upTo : (found.at(-1)?.ordinal ?? upTo);
        return { items: found.map(({ row }): Candidate => row), reached };
      },
    },
    keyChecks: {
      unrevokedWith: async (digest) =>
        rows.certificates.filter((row) => row.spkiSha256 === digest && row.status !== "revoked")
          .length,
    },
    audit: {
      events: async (filter, limit, beforeSeq) => {
        const all = rows.events.filter((event) => fits(filter, event));
        const after = beforeSeq === undefined ? undefined : { at: beforeSeq, id: "" };
        return selectPage(all, (event) => ({ at: event.seq, id: "" }), limit, after);
      },
    },
  };
}

/** Selects one page of rows, newest first, ties broken by id. */
export function selectPage<T>(
  rows: readonly T[],
  keyOf: (row: T) => PageKey,
  limit: number,
  after?: PageKey,
): Page<T> {
  const all = rows.toSorted((a, b) => compareKeys(keyOf(a), keyOf(b)));
  const rest = after === undefined ? all : all.filter((row) => compareKeys(after, keyOf(row)) < 0);
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  const next = rest.length > limit && last !== undefined ? keyOf(last) : undefined;
  return { items, next, total: all.length };
}

const compareKeys = (a: PageKey, b: PageKey) =>
  b.at - a.at || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);

/** Returns true if the serial starts with the prefix, in digits or after `0x` in hex. */
export const matchesSerialPrefix = (serial: string, prefix: string): boolean =>
  prefix.startsWith("0x")
    ? BigInt(serial).toString(16).startsWith(prefix.slice(2).toLowerCase())
    : serial.startsWith(prefix);

function certificateReads(rows: ModelRows): ModelReads["certificates"] {
  return {
    page: async (filter, limit, after) => {
      const ordinals = new Map(rows.certificates.map((row, at) => [row, at + 1]));
      const found = rows.certificates.filter((row) => matchesFilter(filter, row));
      return selectPage(found, (row) => ({ at: ordinals.get(row) ?? 0, id: "" }), limit, after);
    },
    superseded: async (ca, serials) => {
      const named = rows.certificates.filter((row) => row.caId === ca);
      const superseded = named.filter((row) => isSuperseded(rows, row)).map(({ serial }) => serial);
      return new Set(superseded.filter((serial) => serials.includes(serial)));
    },
    outstanding: async (ca, now) => {
      const living = rows.certificates.filter(
        ({ caId, kind, status, notAfter }) =>
          caId === ca && kind !== "responder" && status !== "revoked" && notAfter >= now,
      );
      const latest = Math.max(...living.map(({ notAfter }) => notAfter));
      const latestNotAfter = living.length === 0 ? undefined : instant(latest);
      return { count: living.length, latestNotAfter };
    },
    profileSeen: async (profile, reach) =>
      rows.certificates.some(
        (row) =>
          row.profile === profile &&
          row.kind === "leaf" &&
          coversCa(reach, { id: row.caId, tenant: row.tenant }),
      ),
  };
}

function matchesFilter(filter: CertificateFilter, row: CertificateRecord): boolean {
  const { profile, text, serialPrefix, expiresBefore, spkiSha256, requestedBy, sha256 } = filter;
  if (row.caId !== filter.caId || row.kind !== "leaf") return false;
  if (profile !== undefined && row.profile !== profile) return false;
  if (spkiSha256 !== undefined && row.spkiSha256 !== spkiSha256) return false;
  if (sha256 !== undefined && sha256Hex(row.certificate) !== sha256) return false;
  if (requestedBy !== undefined && row.requestedBy !== requestedBy) return false;
  if (expiresBefore !== undefined && row.notAfter >= expiresBefore) return false;
  if (serialPrefix !== undefined && !matchesSerialPrefix(row.serial, serialPrefix)) return false;
  if (text !== undefined && !matchesText(text, row)) return false;
  if (filter.status === undefined) return true;
  const expired = row.status === "good" && row.notAfter < filter.now;
  return filter.status === (expired ? "expired" : row.status);
}

function matchesText(text: string, row: CertificateRecord): boolean {
  const names = [row.subject, row.commonName, ...row.sans];
  if (names.some((name) => name.toLowerCase().includes(text.toLowerCase()))) return true;
  try {
    return parseSerial(text) === row.serial;
  } catch {
    return false; // Not a serial in any format.
  }
}

/** EXP-2: another good leaf of lineage, subject and profile ends strictly later. */
function isSuperseded({ cas, certificates }: ModelRows, row: CertificateRecord): boolean {
  const findLineage = (id: string) => cas.find((ca) => ca.id === id)?.lineage;
  const lineage = findLineage(row.caId);
  if (row.kind !== "leaf" || lineage === undefined) return false;
  return certificates.some(
    (other) =>
      other.kind === "leaf" &&
      other.status === "good" &&
      other.notAfter > row.notAfter &&
      identityOf(other) === identityOf(row) &&
      findLineage(other.caId) === lineage,
  );
}

function expiryReads(rows: ModelRows): Reads["expiry"] {
  const listExpiries = () =>
    rows.certificates.flatMap((row, at) => {
      const { caId, serial, commonName, subject, profile, notBefore, notAfter, status } = row;
      if (row.kind !== "leaf" || status === "revoked") return [];
      const fields = { caId, serial, status, commonName, subject, profile, notBefore, notAfter };
      const watched: Watched = { ...fields, superseded: isSuperseded(rows, row) };
      return [{ watched, key: { notAfter, ordinal: at + 1 } }];
    });
  return {
    ending: async (filter, after = { notAfter: instant(-8.64e15), ordinal: 0 }) => {
      const found = listExpiries()
        .filter(({ watched }) => watched.caId === filter.caId && watched.status === filter.status)
        .filter(({ watched }) => filter.superseded || !watched.superseded)
        .filter(({ watched }) => watched.notAfter <= (filter.until ?? watched.notAfter))
        .filter(({ key }) => compareExpiries(key, after) > 0)
        .toSorted((a, b) => compareExpiries(a.key, b.key));
      return { items: found.map(({ watched }) => watched), next: undefined };
    },
    endCounts: async (ca, ends) =>
      ends.map((until, at) => {
        const from = ends[at - 1] ?? -Infinity;
        const inside = listExpiries().filter(
          ({ watched: { caId, notAfter } }) => caId === ca && notAfter > from && notAfter <= until,
        );
        const superseded = inside.filter(({ watched }) => watched.superseded).length;
        return { present: inside.length - superseded, superseded };
      }),
  };
}

interface ExpiryKey {
  readonly notAfter: Instant;
  readonly ordinal: number;
}

const compareExpiries = (a: ExpiryKey, b: ExpiryKey) =>
  a.notAfter - b.notAfter || a.ordinal - b.ordinal;

function computeUse(rows: ModelRows, tenant: TenantId, now: Instant): Used {
  const leaves = listLeaves(rows, tenant);
  const living = leaves.filter(({ status, notAfter }) => status !== "revoked" && notAfter >= now);
  const today = leaves.filter(({ createdAt }) => dayOf(createdAt) === dayOf(now));
  return { today: today.length, active: living.length };
}

const listLeaves = ({ certificates }: ModelRows, tenant: TenantId) =>
  certificates.filter((row) => row.kind === "leaf" && row.tenant === tenant);

/** Counts issued and revoked certificates per day, latest day first. */
function countDays(leaves: readonly CertificateRecord[]): readonly DayUsage[] {
  const issues = leaves.map(({ createdAt }) => dayOf(createdAt));
  const revocations = leaves
    .filter(({ status }) => status === "revoked")
    .map(({ revokedAt, createdAt }) => dayOf(revokedAt ?? createdAt));
  const days = [...new Set(issues.concat(revocations))].toSorted((a, b) => b - a);
  return days.map((day) => ({
    day,
    issued: issues.filter((one) => one === day).length,
    revoked: revocations.filter((one) => one === day).length,
  }));
}
