/**
 * Takes over what another CRL of a CA says: one signed elsewhere with the same key, or an older one
 * after a loss.
 */

import { DerError } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { compareOctets } from "#core/asn1/der.ts";
import { type Octets, importPublicKey, verifySignatureAside } from "#core/crypto.ts";
import { Problem, refuse } from "#core/problems.ts";
import { type Instant, instant } from "#core/time.ts";
import { nextTurn } from "#core/turns.ts";
import { schemeOf } from "#core/x509/algorithms.ts";
import { type CrlEntry, openCrl, type OpenedCrl } from "#core/x509/crl.ts";
import { parsePublicKey, signatureFits } from "#core/x509/public-keys.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store, Unit } from "#domain/store.ts";
import { entryEnd } from "./entry-end.ts";
import { revocationEvent } from "./events.ts";
import { issuerOf } from "./issuers.ts";
import type { RevocationChange, Revoker } from "./revoke.ts";
import type { CrlScopes } from "./scopes.ts";
import type { RevocationRecord } from "./store.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly scopes: Pick<CrlScopes, "all">;
  readonly revoker: Pick<Revoker, "revoke">;
  /** Told of every committed change. */
  readonly changed: (change: RevocationChange) => void;
}

export interface Imported {
  /** Entries this instance did not have. */
  readonly imported: number;
  readonly alreadyRevoked: number;
  /** Entries whose serial pkid cannot store: negative, or above 2^160−1. */
  readonly skipped: number;
  /** Serials of the first of these, in decimal. */
  readonly skippedSerials: readonly string[];
}

/** An entry with a reason that stands by itself. */
type RevokedEntry = Omit<CrlEntry, "reason"> & { readonly reason: RevocationReason };

/** Number of imported and present entries. */
type Counts = Pick<Imported, "imported" | "alreadyRevoked">;

/** Imports CRLs. */
export class CrlImport {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Revokes what the list says and is not yet revoked, at the times it says. Refuses
   * `invalid_field` for what is no CRL, or none signed by a key of the CA's lineage. What was
   * committed before a failure stays; a repetition goes on.
   */
  async import(named: CaRecord, der: Uint8Array, origin: Origin): Promise<Imported> {
    const { store, clock } = this.#deps;
    const crl = reading(() => openCrl(der));
    refuseUnknownMeaning(crl);
    const ca = await this.#signer(named, crl);
    // Read once to the end before the first change: a list that breaks off changes nothing.
    const skipping = await readToEnd(crl);
    let done: Counts = { imported: 0, alreadyRevoked: 0 };
    for (const batch of batches(reading(() => openCrl(der)))) {
      if (batch.length > 0) done = await this.#batch(ca, batch, origin, done);
      await nextTurn();
    }
    const { imported, alreadyRevoked } = done;
    const skipped = skipping.skipped || undefined;
    const detail = { imported, already_revoked: alreadyRevoked, skipped };
    const at = clock.now();
    const scopes = crl.number === undefined ? [] : await this.#deps.scopes.all(ca.id);
    await store.atomically(async (tx) => {
      for (const scope of scopes)
        await tx.revocations.raiseCrlNumber(ca.id, scope, crl.number ?? 0);
      const target = { tenant: ca.tenant, caId: ca.id, target: ca.id, targetName: ca.label };
      const author = authorOf(origin, ca.tenant);
      await tx.audit.appendEvent(
        { action: "crl.import", result: "success", ...author, ...target, detail },
        at,
      );
    });
    return { ...done, ...skipping };
  }

  /** The member of the lineage whose key signed the list: serials are counted per key. */
  async #signer(named: CaRecord, crl: OpenedCrl): Promise<CaRecord> {
    for (const ca of await this.#deps.store.read.cas.lineage(named.lineage)) {
      if (ca.certificate === undefined) continue;
      if (compareOctets(issuerOf(ca).subject.der, crl.issuer) !== 0) continue;
      if (await signedWith(ca.spki, crl)) return ca;
    }
    throw refuse("invalid_field", { field: "crl", reason: "is not signed by a key of this CA" });
  }

  async #batch(
    ca: CaRecord,
    batch: readonly RevokedEntry[],
    origin: Origin,
    before: Counts,
  ): Promise<Counts> {
    const { store, clock, changed } = this.#deps;
    const now = clock.now();
    const sorted = await store.atomically(async (tx) => {
      const found = await sort(tx, ca, batch);
      for (const entry of found.bare) await putBare(tx, ca, entry, origin, now);
      return found;
    });
    for (const { serial, reason } of sorted.bare) {
      const to = reason === "certificateHold" ? ("held" as const) : ("revoked" as const);
      const place = { kind: "bare" as const, namedShard: undefined, sequence: undefined };
      changed({ caId: ca.id, serial, to, reason, at: now, ...place });
    }
    let { imported, alreadyRevoked } = before;
    imported += sorted.bare.length;
    alreadyRevoked += sorted.already;
    for (const entry of sorted.known) {
      if (await this.#revokeKnown(ca, entry, origin)) imported += 1;
      else alreadyRevoked += 1;
    }
    return { imported, alreadyRevoked };
  }

  /**
   * A certificate of the inventory is revoked as by any other path; false when there was nothing
   * left to do.
   */
  async #revokeKnown(ca: CaRecord, entry: RevokedEntry, origin: Origin): Promise<boolean> {
    const { serial, revokedAt, reason } = entry;
    const request = { ca, serial, origin, mayManageCa: true, protocol: "import", revokedAt };
    try {
      const { status } = await this.#deps.revoker.revoke(request, reason);
      return status === "revoked" || status === "held";
    } catch (error) {
      // What may not be held, or is expired, stays as it is: a hold says nothing for good.
      if (error instanceof Problem && reason === "certificateHold") return false;
      throw error;
    }
  }
}

/** What is here already, what the inventory knows, and what nobody has heard of. */
async function sort(tx: Unit, ca: CaRecord, batch: readonly RevokedEntry[]) {
  const bare: RevokedEntry[] = [];
  const known: RevokedEntry[] = [];
  let already = 0;
  for (const entry of batch) {
    const certificate = await tx.certificates.lock(ca.id, entry.serial);
    const present = await tx.revocations.lock(ca.id, entry.serial);
    if (stands(present, entry)) already += 1;
    else if (certificate === undefined) bare.push(entry);
    else known.push(entry);
  }
  return { bare, known, already };
}

/** A hold gives way to a revocation, and nothing else does. */
const stands = (present: RevocationRecord | undefined, { reason }: RevokedEntry): boolean =>
  present !== undefined && (present.reason !== "certificateHold" || reason === "certificateHold");

async function putBare(
  tx: Unit,
  ca: CaRecord,
  { serial, revokedAt, reason }: RevokedEntry,
  origin: Origin,
  now: Instant,
): Promise<void> {
  const at = instant(Math.min(now, revokedAt));
  const expiresAt = await entryEnd(tx, { caId: ca.id, serial }, undefined);
  const entry = { caId: ca.id, serial, revokedAt: at, reason, known: false, expiresAt };
  const sequence = await tx.revocations.put(entry);
  const to = reason === "certificateHold" ? ("held" as const) : ("revoked" as const);
  const told = { caId: ca.id, tenant: ca.tenant, serial, to, reason, known: false };
  const bound = { sequence, revokedAt: at === now ? undefined : at };
  const change = { ...told, ...bound, heldSince: undefined, protocol: "import" };
  await tx.audit.appendEvent(revocationEvent(authorOf(origin, ca.tenant), change), now);
}

/** Yields the entries in batches. A batch may be empty: reading long entries takes time as well. */
function* batches(crl: OpenedCrl): Generator<readonly RevokedEntry[]> {
  let batch: RevokedEntry[] = [];
  let bytes = 0;
  const entries = crl.foreignEntries((length) => (bytes += length));
  for (const { serial, revokedAt, reason } of entries) {
    if (reason !== "removeFromCRL" && serial !== undefined)
      batch.push({ serial, revokedAt, reason });
    if (batch.length < batchSize && bytes < bytesPerTick) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  yield batch;
}

async function signedWith(spki: Uint8Array, crl: OpenedCrl): Promise<boolean> {
  const { signatureName, tbs, signature } = crl;
  if (signatureName === undefined || !signatureFits(parsePublicKey(spki), signatureName)) {
    return false;
  }
  const octets: Octets = [tbs];
  return await verifySignatureAside(
    importPublicKey(spki),
    schemeOf(signatureName),
    octets,
    signature,
  );
}

/**
 * RFC 5280 §5.2: a list with a critical extension one does not know must not be used to decide
 * anything.
 */
function refuseUnknownMeaning({ extensions }: OpenedCrl): void {
  const unknown = extensions.find(({ oid, critical }) => critical && !understood.has(oid));
  if (unknown === undefined) return;
  const reason = `has the critical extension ${unknown.oid}, which is not understood`;
  throw refuse("invalid_field", { field: "crl", reason });
}

/**
 * Reads every entry, some in each turn: a list may have a million. Returns the entries that will be
 * skipped.
 */
async function readToEnd(crl: OpenedCrl): Promise<Pick<Imported, "skipped" | "skippedSerials">> {
  let bytes = 0;
  const entries = crl.foreignEntries((length) => (bytes += length));
  const skippedSerials: string[] = [];
  let skipped = 0;
  for (;;) {
    const { done, value } = reading(() => entries.next());
    if (done === true) return { skipped, skippedSerials };
    if (value.serial === undefined && value.reason !== "removeFromCRL") {
      skipped++;
      if (skippedSerials.length < shownMax) skippedSerials.push(value.number.toString(10));
    }
    if (bytes < bytesPerTick) continue;
    bytes = 0;
    await nextTurn();
  }
}

function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw refuse("invalid_field", { field: "crl", reason: `cannot be read: ${error.message}` });
  }
}

/** Partitions and deltas say less, but nothing else. */
const understood: ReadonlySet<string> = new Set<string>([
  oids.issuingDistributionPoint,
  oids.deltaCrlIndicator,
]);
const batchSize = 200;
/** Length of the entries that are read in one tick of the event loop: 2,000 usual ones. */
const bytesPerTick = 65_536;
const shownMax = 20;
