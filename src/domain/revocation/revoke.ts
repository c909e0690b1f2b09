/**
 * Changes the revocation state of one serial: one locked unit with its event, then what follows
 * from it.
 */

import type { CaId, Serial } from "#core/ids.ts";
import { refuse, type Problem } from "#core/problems.ts";
import { type Instant, instant, timestamp } from "#core/time.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { CertificateRecord, StoredStatus } from "#domain/certificates/store.ts";
import {
  blockEvent,
  blockedFor,
  blockings,
  blocksItsKey,
  digestsOf,
} from "#domain/key-checks/block.ts";
import type { BlockedKeyRecord } from "#domain/key-checks/store.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store, Unit } from "#domain/store.ts";
import { entryEnd } from "./entry-end.ts";
import { revocationEvent } from "./events.ts";
import type { RevocationRecord } from "./store.ts";
import {
  decide,
  isCaCertificate,
  isHoldable,
  type RefusalWord,
  type RevocationAction,
  type RevocationState,
  stateOf,
} from "./transitions.ts";

/** What is asked: certificateHold as reason is the same as suspending. */
export interface RevocationRequest {
  readonly ca: CaRecord;
  readonly serial: Serial;
  readonly origin: Origin;
  /**
   * True when the caller holds ca:manage on the CA; without it a CA certificate is refused
   * `forbidden`.
   */
  readonly mayManageCa: boolean;
  /** True when whoever asks has proved to hold the private key. */
  readonly keyProven?: boolean | undefined;
  /** `acme` or `cmp` when a device asked; written into the event. */
  readonly protocol?: string | undefined;
  /** The run or plan that asks, written into the event. */
  readonly bulkOp?: string | undefined;
  /** When it was revoked, where an older list of the CA says so; now otherwise. */
  readonly revokedAt?: Instant | undefined;
  /** Written in the same unit when this call changes something: what else its caller has to say. */
  readonly also?: (tx: Unit, at: Instant) => Promise<void>;
}

/** What has become of a serial, or had before. */
export const revocationResults = [
  "revoked",
  "already-revoked",
  "held",
  "already-held",
  "released",
] as const;

/** What is true of the serial now, and whether this call made it so. */
export interface RevocationResult {
  /** Id of the CA whose key signed the serial. */
  readonly caId: CaId;
  readonly status: (typeof revocationResults)[number];
  readonly serial: Serial;
  readonly revokedAt: Instant | undefined;
  readonly reason: RevocationReason | undefined;
}

/** A committed change, told to whoever has to publish it. */
export interface RevocationChange {
  readonly caId: CaId;
  readonly serial: Serial;
  readonly kind: CertificateRecord["kind"] | "bare";
  readonly to: StoredStatus;
  readonly reason: RevocationReason | undefined;
  readonly at: Instant;
  /** The CRL partition that the certificate names. */
  readonly namedShard: number | undefined;
  /** Its number in the revocation sequence; undefined where nobody counted. */
  readonly sequence: number | undefined;
}

interface Deps {
  readonly store: Pick<Store, "atomically">;
  readonly clock: Clock;
  readonly random: Pick<Random, "uuid">;
  /** False for profiles with `lint.public` (REV-4); an unknown profile may be held. */
  readonly holdPermitted: (profile: string) => boolean;
  /**
   * Called after the commit; must return at once and never throw: the change is acknowledged
   * whatever it does.
   */
  readonly changed: (change: RevocationChange) => void;
}

/** Revoke, suspend and release, by the table of `transitions.ts` (TRN-1). */
export class Revoker {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Revokes for good, or suspends when the reason is certificateHold; a serial nobody knows becomes
   * a bare entry. Refuses `already_revoked`, `certificate_expired`, `hold_not_permitted`,
   * `not_found`, `forbidden`.
   */
  async revoke(request: RevocationRequest, reason: RevocationReason): Promise<RevocationResult> {
    if (reason === "certificateHold") return await this.suspend(request);
    return await this.#apply(request, "revoke", reason);
  }

  /** Puts on hold. Refuses as `revoke` does. */
  async suspend(request: RevocationRequest): Promise<RevocationResult> {
    return await this.#apply(request, "suspend", "certificateHold");
  }

  /** Takes the hold off. Refuses `not_held`. */
  async release(request: RevocationRequest): Promise<RevocationResult> {
    return await this.#apply(request, "release", undefined);
  }

  async #apply(
    request: RevocationRequest,
    action: RevocationAction,
    reason: RevocationReason | undefined,
  ): Promise<RevocationResult> {
    const { holdPermitted } = this.#deps;
    const now = this.#deps.clock.now();
    const { result, change } = await this.#deps.store.atomically(async (tx) => {
      const found = await lock(tx, request, now);
      if (isCaCertificate(found.certificate?.kind) && !request.mayManageCa) {
        throw refuse("forbidden", { capability: "ca:manage" });
      }
      const { certificate, state } = found;
      const holdable = certificate === undefined || isHoldable(certificate, holdPermitted);
      const outcome = decide(state, action, holdable);
      if ("refused" in outcome) throw refusal(outcome.refused, found);
      if ("unchanged" in outcome) return { result: first(request, outcome.unchanged, found) };
      const at = instant(Math.min(now, request.revokedAt ?? now));
      const decided = changeOf(request, found, outcome.change, reason, at);
      const change = { ...decided, sequence: await write(tx, decided, found) };
      const blocked = this.#compromised(request, change, found, now);
      await tx.audit.appendEvent(eventOf(request, change, found, now), now);
      for (const record of blocked) await block(tx, request.origin, record);
      await request.also?.(tx, now);
      return { result: resultOf(change), change };
    });
    if (change !== undefined) this.#deps.changed(change);
    return result;
  }

  /** A key that leaked is never certified again, under whatever name. */
  #compromised(
    { origin, ca, keyProven = false }: RevocationRequest,
    { to, reason, kind }: RevocationChange,
    { certificate }: Found,
    now: Instant,
  ): readonly BlockedKeyRecord[] {
    if (to !== "revoked" || reason !== "keyCompromise" || !blocksItsKey(kind)) return [];
    if (certificate === undefined) return [];
    const facts = {
      tenant: blockedFor(origin.principal, ca.tenant, keyProven),
      reason: `serial ${certificate.serial} was revoked`,
      source: "revocation" as const,
      createdBy: origin.principal.subject,
      createdAt: now,
    };
    return blockings(digestsOf(certificate), facts, () => this.#deps.random.uuid());
  }
}

type Decided = Omit<RevocationChange, "sequence">;

/** What the unit found under the lock. */
interface Found {
  readonly state: RevocationState;
  readonly certificate: CertificateRecord | undefined;
  readonly entry: RevocationRecord | undefined;
}

// The row lock is what makes concurrent calls on one serial a legal history (REV-5).
async function lock(tx: Unit, request: RevocationRequest, now: Instant): Promise<Found> {
  const certificate = await tx.certificates.lock(request.ca.id, request.serial);
  const entry = await tx.revocations.lock(request.ca.id, request.serial);
  return { certificate, entry, state: stateOf(certificate, entry, now) };
}

function refusal(word: RefusalWord, found: Found): Problem {
  switch (word) {
    case "already_revoked":
      return refuse("already_revoked", {
        revoked_at: found.entry && timestamp(found.entry.revokedAt),
        reason: found.entry?.reason,
      });
    case "certificate_expired":
      return refuse("certificate_expired", {
        not_after: found.certificate && timestamp(found.certificate.notAfter),
      });
    case "not_held":
      return refuse("not_held", { status: found.state });
    case "hold_not_permitted":
      return refuse("hold_not_permitted");
    case "not_found":
      return refuse("not_found");
  }
}

function first(
  request: RevocationRequest,
  status: "already-revoked" | "already-held",
  found: Found,
): RevocationResult {
  const { entry, certificate } = found;
  const revokedAt = entry?.revokedAt ?? certificate?.revokedAt;
  return {
    caId: request.ca.id,
    status,
    serial: request.serial,
    revokedAt,
    reason: entry?.reason ?? certificate?.reason,
  };
}

function changeOf(
  request: RevocationRequest,
  found: Found,
  to: StoredStatus,
  reason: RevocationReason | undefined,
  at: Instant,
): Decided {
  const kind = found.certificate?.kind ?? "bare";
  const namedShard = found.certificate?.crlPartition;
  return { caId: request.ca.id, serial: request.serial, kind, to, reason, at, namedShard };
}

/** Gives the number of the change. */
async function write(tx: Unit, change: Decided, found: Found): Promise<number> {
  const { caId, serial, to, reason, at } = change;
  if (to === "good" || reason === undefined) {
    if (found.certificate !== undefined) {
      await tx.certificates.setStatus(caId, serial, "good", undefined, undefined);
    }
    return await tx.revocations.remove(caId, serial);
  }
  const known = found.certificate !== undefined;
  if (known) await tx.certificates.setStatus(caId, serial, to, at, reason);
  const expiresAt = await entryEnd(tx, change, found.certificate);
  const entry = { caId, serial, revokedAt: at, reason, known, expiresAt };
  const sequence = await tx.revocations.put(entry);
  if (change.kind === "ca") await tx.cas.retireSubject(caId, serial);
  return sequence;
}

async function block(tx: Unit, origin: Origin, record: BlockedKeyRecord): Promise<void> {
  if ((await tx.keyChecks.block(record)) !== undefined) return;
  await tx.audit.appendEvent(blockEvent(authorOf(origin, record.tenant), record), record.createdAt);
}

function eventOf(
  request: RevocationRequest,
  change: Decided & { readonly sequence: number },
  found: Found,
  now: Instant,
) {
  const { ca, origin, protocol, bulkOp } = request;
  const { sequence, at } = change;
  const revokedAt = at === now ? undefined : at;
  const { entry, certificate, state } = found;
  const heldSince = state === "held" ? (entry?.revokedAt ?? certificate?.revokedAt) : undefined;
  return revocationEvent(authorOf(origin, ca.tenant), {
    caId: ca.id,
    tenant: ca.tenant,
    serial: change.serial,
    to: change.to,
    reason: change.reason,
    known: certificate !== undefined,
    heldSince,
    protocol,
    bulkOp,
    sequence,
    revokedAt,
  });
}

function resultOf(change: RevocationChange): RevocationResult {
  const { caId, serial, to, at, reason } = change;
  if (to === "good") {
    return { caId, status: "released", serial, revokedAt: undefined, reason: undefined };
  }
  return { caId, status: to, serial, revokedAt: at, reason };
}
