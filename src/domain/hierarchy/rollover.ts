/**
 * The rules of key rollover: what may be rotated, under which label, and who takes whose place
 * (ROL-1, ROL-2).
 */

import { refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import type { Reads, Unit } from "#domain/store.ts";
import type { CaReads, CaRecord } from "#domain/authorities/store.ts";

/** How the successor may differ; undefined takes what the predecessor has. */
export interface RotationRequest {
  readonly label: string | undefined;
  readonly keyType: KeyType | undefined;
  /** Above the parent's own life it is refused; undefined is the old span, shortened to it. */
  readonly validityDays: number | undefined;
}

export interface Rotation {
  /** Superseded now. */
  readonly old: CaRecord;
  /** Active now. */
  readonly successor: CaRecord;
}

/** The CA a new one takes the place of. */
export interface Succeeded {
  readonly ca: CaRecord;
  /** When its last certificate expires; undefined when there is none. */
  readonly retireAfter: Instant | undefined;
}

/**
 * The active member with its certificate and parent. Refuses `not_rotatable` and `ca_not_active`.
 */
export async function rotatable(cas: CaReads, ca: CaRecord) {
  if (ca.csr !== undefined) throw refuse("not_rotatable", { reason: "externally_signed" });
  if (ca.certificate === undefined) throw refuse("not_rotatable", { reason: "no_certificate" });
  if (ca.parent === undefined) throw refuse("not_rotatable", { reason: "root" });
  // Any member names the lineage, retired ones too; read anew, for the turn before this one may
  // have rotated it.
  const old = (await cas.lineage(ca.lineage)).findLast(({ status }) => status === "active");
  if (old === undefined) throw refuse("ca_not_active", { status: ca.status });
  const parentCa = old.parent === undefined ? undefined : await cas.byId(old.parent);
  if (parentCa === undefined || old.certificate === undefined) {
    throw refuse("not_rotatable", { reason: "no_certificate" });
  }
  return { old, parentCa, certificate: parseCertificate(old.certificate) };
}

/** `<label>-r2`, `-r3`, …: the label of the first member and the next number nobody has. */
export async function nextLabel(cas: CaReads, old: CaRecord): Promise<string> {
  const members = await cas.lineage(old.lineage);
  const base = members[0]?.label ?? old.label;
  for (let generation = members.length + 1; ; generation++) {
    const suffix = `-r${generation}`;
    const label = `${base.slice(0, labelMax - suffix.length)}${suffix}`;
    if ((await cas.byLabel(label)) === undefined) return label;
  }
}

/**
 * In the unit that stores the successor; refuses `ca_not_active` when another rotation was
 * committed before.
 */
export async function succeed(tx: Unit, old: Succeeded, successor: CaRecord["id"]): Promise<void> {
  if (await tx.cas.supersede(old.ca.id, successor, old.retireAfter)) return;
  const status = await tx.cas.status(old.ca.id);
  throw refuse("ca_not_active", { status: status ?? "deleted" });
}

/** How far the rollover of a lineage has come. */
export interface RotationStatus {
  readonly ca: CaRecord;
  readonly predecessor: CaRecord | undefined;
  readonly successor: CaRecord | undefined;
  /**
   * Unexpired good and held certificates of the key that is to be retired; 0 when there is no such
   * key.
   */
  readonly outstanding: number;
  /** When the last of them expires. */
  readonly retireAfter: Instant | undefined;
  /** True when a superseded key waits for retirement and nothing depends on it. */
  readonly safeToRetire: boolean;
}

/**
 * The state of a CA's rollover, counted now: for a superseded CA its own, else that of its oldest
 * superseded sibling.
 */
export async function rotationStatus(
  read: Pick<Reads, "cas" | "certificates">,
  ca: CaRecord,
  now: Instant,
): Promise<RotationStatus> {
  const { cas, certificates } = read;
  const target = ca.status === "superseded" ? ca : await oldestSuperseded(cas, ca);
  const { count, latestNotAfter } =
    target === undefined
      ? { count: 0, latestNotAfter: undefined }
      : await certificates.outstanding(target.id, now);
  return {
    ca,
    predecessor: ca.predecessor && (await cas.byId(ca.predecessor)),
    successor: ca.successor && (await cas.byId(ca.successor)),
    outstanding: count,
    retireAfter: latestNotAfter,
    safeToRetire: target !== undefined && count === 0,
  };
}

/** The member of the lineage that retire means (ROL-5). */
export async function oldestSuperseded(cas: CaReads, ca: CaRecord): Promise<CaRecord | undefined> {
  return (await cas.lineage(ca.lineage)).find(({ status }) => status === "superseded");
}

const labelMax = 64;
