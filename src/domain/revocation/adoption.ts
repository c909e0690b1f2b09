/**
 * Takes certificates into the inventory that another program has signed with the key of a CA, and
 * what that program revoked (IMP-3).
 */

import { compareOctets } from "#core/asn1/der.ts";
import { sha256Hex } from "#core/crypto.ts";
import { orderedId, type Serial } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { type Instant, instant, timestamp } from "#core/time.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import { aboutCa } from "#domain/authorities/events.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import { blockEvent, blockedFor, blockings, digestsOf } from "#domain/key-checks/block.ts";
import type { BlockedKeyRecord } from "#domain/key-checks/store.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store, Unit } from "#domain/store.ts";
import {
  type AdoptionIssuer,
  type ForeignCertificate,
  type Judged,
  type JudgedOffer,
  judged,
  type Offer,
  type OfferFault,
} from "./adoption-judge.ts";
import { entryEnd } from "./entry-end.ts";
import { revocationEvent } from "./events.ts";
import type { RevocationChange, Revoker } from "./revoke.ts";
import type { RevocationRecord } from "./store.ts";

/** What became of one offer, or would become of it. */
export const adoptionResults = ["imported", "present", "revoked", "entered", "refused"] as const;

/** The word, and for what was refused the reason. */
export interface Adopted {
  /**
   * `imported`: the certificate is new here. `present`: nothing was left to do. `revoked`: the
   * certificate was here, and is revoked now. `entered`: the serial is on the lists, without a
   * certificate.
   */
  readonly result: (typeof adoptionResults)[number];
  readonly serial: Serial | undefined;
  readonly fault: OfferFault | undefined;
}

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Pick<Random, "bytes">;
  readonly revoker: Pick<Revoker, "revoke">;
  /** Told of every committed change. */
  readonly changed: (change: RevocationChange) => void;
}

/** Whose certificates are offered. */
export interface AdoptionCall {
  readonly ca: CaRecord;
  readonly issuer: AdoptionIssuer;
  readonly origin: Origin;
}

/** Adopts certificates and entries, a batch at a time. */
export class Adoption {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Takes in one batch, each offer for itself, and gives what became of each in their order. The
   * same offer a second time is `present`; what differs from what is here under its serial is
   * refused. A revocation that is here is never undone, and keeps its time and reason.
   */
  async adopt(call: AdoptionCall, offers: readonly Offer[]): Promise<readonly Adopted[]> {
    const { store, clock, changed } = this.#deps;
    const found = await judged(call.issuer, offers);
    const now = clock.now();
    const done = await store.atomically(async (tx) => {
      const steps: Step[] = [];
      for (const one of found) steps.push(await this.#step(tx, call, one, now));
      return steps;
    });
    for (const { change } of done) if (change !== undefined) changed(change);
    const results: Adopted[] = [];
    for (const { revoke, adopted } of done) {
      const late = revoke !== undefined && (await this.#revokeKnown(call, revoke));
      const told = late && adopted.result !== "imported";
      results.push(told ? { ...adopted, result: "revoked" } : adopted);
    }
    return results;
  }

  /** What `adopt` would answer, without `ca` for one that is not here yet; changes nothing. */
  async check(
    { ca, issuer }: { readonly ca: CaRecord | undefined; readonly issuer: AdoptionIssuer },
    offers: readonly Offer[],
  ): Promise<readonly Adopted[]> {
    const { certificates, revocations } = this.#deps.store.read;
    const seen = new Map<Serial, Pick<Judged, "foreign" | "revoked">>();
    const results: Adopted[] = [];
    for (const one of await judged(issuer, offers)) {
      if ("fault" in one || one.own) {
        results.push(settledBy(one));
        continue;
      }
      const { serial } = one;
      const row = ca && (await certificates.bySerial(ca.id, serial));
      const before = seen.get(serial);
      const known = row ?? before?.foreign;
      const entry = ca && (await revocations.bySerial(ca.id, serial));
      const result = foretold(one, known, later(entry, before?.revoked));
      results.push(result);
      if (result.result === "refused") continue;
      // What came before it under this serial stays, as it would in the inventory.
      const { foreign = before?.foreign } = one;
      seen.set(serial, { foreign, revoked: later(before?.revoked, one.revoked) });
    }
    return results;
  }

  async #step(tx: Unit, call: AdoptionCall, one: JudgedOffer, now: Instant): Promise<Step> {
    if ("fault" in one || one.own) return { adopted: settledBy(one) };
    const { ca } = call;
    const { serial, foreign, revoked } = one;
    const known = await tx.certificates.lock(ca.id, serial);
    const entry = await tx.revocations.lock(ca.id, serial);
    const adopted = foretold(one, known, entry);
    if (adopted.result === "revoked") return { adopted: present(serial), revoke: one };
    if (adopted.result === "refused" || adopted.result === "present") return { adopted };
    if (foreign !== undefined && known === undefined) {
      return await this.#insert(tx, call, { one, foreign, entry, now });
    }
    if (revoked === undefined) return { adopted };
    const change = await this.#enter(tx, call, { serial, revoked, certificate: undefined, now });
    return { adopted, change };
  }

  async #insert(
    tx: Unit,
    call: AdoptionCall,
    given: {
      readonly one: Judged;
      readonly foreign: ForeignCertificate;
      readonly entry: RevocationRecord | undefined;
      readonly now: Instant;
    },
  ): Promise<Step> {
    const { ca, origin } = call;
    const { one, foreign, entry, now } = given;
    const { serial } = one;
    const record = this.#recordOf(call, foreign, entry, now);
    if (!(await tx.certificates.adopt(record))) {
      return { adopted: { result: "refused", serial, fault: "serial_taken" } };
    }
    await tx.audit.appendEvent(importEvent(origin, ca, record), now);
    const adopted = { result: "imported", serial, fault: undefined } as const;
    if (entry !== undefined) {
      await tx.revocations.setEnd(ca.id, serial, record.notAfter);
      // A hold that the other program has made final is made so as any other is.
      return upgrades(entry, one.revoked) ? { adopted, revoke: one } : { adopted };
    }
    if (one.revoked === undefined) return { adopted };
    const { revoked } = one;
    const change = await this.#enter(tx, call, { serial, revoked, certificate: record, now });
    return { adopted, change };
  }

  /** Puts the serial on the lists, with its event. */
  async #enter(
    tx: Unit,
    { ca, origin }: AdoptionCall,
    given: {
      readonly serial: Serial;
      readonly revoked: NonNullable<Judged["revoked"]>;
      readonly certificate: CertificateRecord | undefined;
      readonly now: Instant;
    },
  ): Promise<RevocationChange> {
    const { serial, certificate, now } = given;
    const { reason } = given.revoked;
    const at = instant(Math.min(now, given.revoked.at));
    const to = reason === "certificateHold" ? ("held" as const) : ("revoked" as const);
    const known = certificate !== undefined;
    if (known) await tx.certificates.setStatus(ca.id, serial, to, at, reason);
    const expiresAt = await entryEnd(tx, { caId: ca.id, serial }, certificate);
    const entry = { caId: ca.id, serial, revokedAt: at, reason, known, expiresAt };
    const sequence = await tx.revocations.put(entry);
    const author = authorOf(origin, ca.tenant);
    const revokedAt = at === now ? undefined : at;
    const told = { caId: ca.id, tenant: ca.tenant, serial, to, reason, known, sequence };
    const change = { ...told, revokedAt, heldSince: undefined, protocol: "import" };
    await tx.audit.appendEvent(revocationEvent(author, change), now);
    if (certificate?.kind === "ca") await tx.cas.retireSubject(ca.id, serial);
    if (certificate !== undefined && reason === "keyCompromise") {
      await this.#block(tx, ca, origin, certificate, now);
    }
    const kind = certificate?.kind ?? ("bare" as const);
    return { caId: ca.id, serial, kind, to, reason, at: now, namedShard: undefined, sequence };
  }

  /** A key that leaked is never certified again, under whatever name. */
  async #block(
    tx: Unit,
    ca: CaRecord,
    origin: Origin,
    certificate: CertificateRecord,
    now: Instant,
  ): Promise<void> {
    const facts: Omit<BlockedKeyRecord, "id" | "spkiSha256"> = {
      tenant: blockedFor(origin.principal, ca.tenant, false),
      reason: `serial ${certificate.serial} was revoked`,
      source: "import",
      createdBy: origin.principal.subject,
      createdAt: now,
    };
    for (const record of blockings(digestsOf(certificate), facts, () => this.#newId(now))) {
      if ((await tx.keyChecks.block(record)) !== undefined) continue;
      await tx.audit.appendEvent(blockEvent(authorOf(origin, record.tenant), record), now);
    }
  }

  #recordOf(
    { ca, origin }: AdoptionCall,
    foreign: ForeignCertificate,
    entry: RevocationRecord | undefined,
    now: Instant,
  ): CertificateRecord {
    const held = entry?.reason === "certificateHold";
    return {
      ...foreign,
      id: this.#newId(now),
      caId: ca.id,
      tenant: ca.tenant,
      status: entry === undefined ? "good" : held ? "held" : "revoked",
      revokedAt: entry?.revokedAt,
      reason: entry?.reason,
      requestedBy: origin.principal.subject,
      // When it was issued, as far as anybody can tell: quotas of a day and statistics count by it.
      createdAt: instant(Math.min(foreign.notBefore, now)),
      marker: importedMarker,
    };
  }

  #newId(now: Instant): string {
    return orderedId(now, this.#deps.random.bytes(10));
  }

  /** A certificate of the inventory is revoked as by any other path; false when it could not be. */
  async #revokeKnown({ ca, origin }: AdoptionCall, { serial, revoked }: Judged): Promise<boolean> {
    if (revoked === undefined) return false;
    const more = { mayManageCa: true, protocol: "import", revokedAt: revoked.at };
    try {
      const request = { ca, serial, origin, ...more };
      const { status } = await this.#deps.revoker.revoke(request, revoked.reason);
      return status === "revoked" || status === "held";
    } catch (error) {
      // What may not be held, or is expired, stays as it is: a hold says nothing for good.
      if (error instanceof Problem && revoked.reason === "certificateHold") return false;
      throw error;
    }
  }
}

/** Marks rows of the inventory that no key here has signed. */
export const importedMarker = "imported";

interface Step {
  readonly adopted: Adopted;
  readonly change?: RevocationChange;
  /** What is revoked after the unit, as by any other path. */
  readonly revoke?: Judged;
}

/** What is known of an offer before the inventory is asked. */
function settledBy(one: JudgedOffer): Adopted {
  if (!("fault" in one)) return present(one.serial);
  return { result: "refused", serial: one.serial, fault: one.fault };
}

const present = (serial: Serial): Adopted => ({ result: "present", serial, fault: undefined });

/** What an offer comes to beside what is here. */
function foretold(
  { serial, foreign, revoked }: Judged,
  known: Pick<CertificateRecord, "certificate"> | undefined,
  entry: Pick<RevocationRecord, "reason"> | undefined,
): Adopted {
  const says = (result: Adopted["result"], fault?: OfferFault): Adopted => ({
    result,
    serial,
    fault,
  });
  // Of a tombstone that retention has left nobody can say more than its serial.
  if (foreign !== undefined && known !== undefined && known.certificate.length > 0) {
    const same = compareOctets(foreign.certificate, known.certificate) === 0;
    if (!same) return says("refused", "differs");
  }
  if (foreign !== undefined && known === undefined) return says("imported");
  if (revoked === undefined || stands(entry, revoked)) return says("present");
  // A hold that becomes final goes the way of every other revocation, certificate or not.
  return says(known !== undefined || entry !== undefined ? "revoked" : "entered");
}

/** A hold gives way to a revocation, and nothing else does. */
const stands = (
  entry: Pick<RevocationRecord, "reason"> | undefined,
  revoked: { readonly reason: RevocationReason },
): boolean => entry !== undefined && !upgrades(entry, revoked);

interface WithReason {
  readonly reason: RevocationReason;
}

/** Of two revocations of a serial, one after the other, the one that counts. */
const later = <A extends WithReason, B extends WithReason>(
  first: A | undefined,
  second: B | undefined,
): A | B | undefined => (first === undefined || upgrades(first, second) ? second : first);

const upgrades = (
  entry: Pick<RevocationRecord, "reason">,
  revoked: { readonly reason: RevocationReason } | undefined,
): boolean =>
  entry.reason === "certificateHold" &&
  revoked !== undefined &&
  revoked.reason !== "certificateHold";

/**
 * The event of a certificate that came in; of a leaf it names the profile, of a CA it does not
 * (AUD-2: its octets are bound by their digest).
 */
export function importEvent(
  origin: Origin,
  ca: Pick<CaRecord, "id" | "tenant" | "label">,
  { kind, serial, profile, notAfter, certificate }: CertificateRecord,
) {
  return {
    action: "cert.import" as const,
    result: "success" as const,
    ...aboutCa(origin, ca, serial),
    targetName: serial,
    detail: {
      profile: kind === "leaf" ? profile : undefined,
      not_after: timestamp(notAfter),
      sha256: sha256Hex(certificate),
    },
  };
}
