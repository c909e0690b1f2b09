/**
 * The batches of a bulk revocation: each one unit with its own time, its entries and one event per
 * certificate.
 */

import { orderedId } from "#core/ids.ts";
import { assert, refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { StillMay } from "#domain/access/principal-now.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
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
import type { BulkProgress, BulkRun, RunSerial, Target } from "./bulk-store.ts";
import { entryEnd } from "./entry-end.ts";
import { revocationEvent } from "./events.ts";
import type { RevocationChange } from "./revoke.ts";
import type { RevocationRecord } from "./store.ts";
import { decide, isHoldable, stateOf } from "./transitions.ts";

export interface BatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Pick<Random, "bytes">;
  readonly holdPermitted: (profile: string) => boolean;
  /** Asked before every batch: what lets a run begin can be taken away before it ends. */
  readonly stillMay: StillMay;
  /**
   * As for single changes: called after the commit, for what cannot wait for the end of the run.
   */
  readonly changed: (change: RevocationChange) => void;
}

/** Works runs off. */
export class BulkBatches {
  readonly #deps: BatchDeps;
  #halted = false;

  constructor(deps: BatchDeps) {
    this.#deps = deps;
  }

  get halted(): boolean {
    return this.#halted;
  }

  halt(): void {
    this.#halted = true;
  }

  /**
   * Revokes what is left of a run; `after` is told the figures of each batch that has committed.
   * Throws what kept a batch from committing, `shutting_down` between two of them once the work was
   * halted, and `forbidden` or `invalid_token` once its maker may not do it any more.
   */
  async run(
    run: BulkRun,
    ca: CaRecord,
    after: (progress: BulkProgress) => void,
  ): Promise<BulkProgress> {
    let progress: BulkProgress = run;
    for (;;) {
      if (this.#halted) throw refuse("shutting_down", { retry_after: 5 });
      await this.#authorize(run, ca);
      const changes = await this.#batch(run, ca);
      if (changes === undefined) return progress;
      const { planned, revoked, upgraded, skipped, batches } = progress;
      progress = {
        planned,
        revoked: revoked + changes.revoked,
        upgraded: upgraded + changes.upgraded,
        skipped: skipped + changes.skipped,
        batches: batches + 1,
      };
      after(progress);
    }
  }

  async #authorize({ maker }: BulkRun, ca: CaRecord): Promise<void> {
    const capability = "ca:manage";
    if (maker === undefined) throw refuse("forbidden", { capability });
    await this.#deps.stillMay(maker, capability, ca);
  }

  /** One batch; undefined when nothing is left. */
  async #batch(run: BulkRun, ca: CaRecord) {
    const at = this.#deps.clock.now();
    const done = await this.#deps.store.atomically(async (tx) => {
      const targets = await tx.bulkRevocations.next(run, run.batchSize);
      const last = targets.at(-1);
      if (last === undefined) return undefined;
      const changes = targets.flatMap((target) => this.#changeOf(run, target, at));
      const { tenant } = ca; // A lineage belongs to one tenant.
      for (const [id, its] of Map.groupBy(changes, ({ caId }) => caId)) {
        await this.#write(tx, run, { id, tenant }, its, at);
      }
      const counts = {
        revoked: changes.length,
        skipped: targets.length - changes.length,
        upgraded: changes.filter(({ heldSince }) => heldSince !== undefined).length,
      };
      await tx.bulkRevocations.advance(run, last, { ...counts, batches: 1 });
      return { ...counts, changes };
    });
    for (const { caId, kind, serial } of done?.changes ?? []) {
      if (kind === "leaf" || kind === "bare") continue;
      const { reason } = run;
      const unplaced = { namedShard: undefined, sequence: undefined };
      this.#deps.changed({ caId, serial, kind, to: "revoked", reason, at, ...unplaced });
    }
    return done;
  }

  /**
   * Decided anew under the lock: what somebody else has revoked since it was confirmed stays as it
   * is.
   */
  #changeOf(run: BulkRun, target: Target, at: Instant): readonly Change[] {
    const { caId, serial, certificate, entry } = target;
    const hold = run.reason === "certificateHold";
    const state = stateOf(certificate, entry, at);
    const holdable = certificate === undefined || isHoldable(certificate, this.#deps.holdPermitted);
    const outcome = decide(state, hold ? "suspend" : "revoke", holdable);
    if (!("change" in outcome)) return [];
    const heldSince = state === "held" ? (entry?.revokedAt ?? at) : undefined;
    const { kind = "bare", notAfter, spkiSha256 } = certificate ?? {};
    return [{ caId, serial, kind, notAfter, spkiSha256, heldSince }];
  }

  /** Writes the changes under one CA of the lineage. */
  async #write(
    tx: Unit,
    run: BulkRun,
    ca: Pick<CaRecord, "id" | "tenant">,
    changes: readonly Change[],
    at: Instant,
  ): Promise<void> {
    const { reason } = run;
    const to = reason === "certificateHold" ? "held" : "revoked";
    const known = changes.filter(({ kind }) => kind !== "bare").map(({ serial }) => serial);
    await tx.certificates.setStatuses(ca.id, known, { status: to, revokedAt: at, reason });
    const entries: Omit<RevocationRecord, "sequence">[] = [];
    for (const { serial, kind, notAfter } of changes) {
      const certificate = notAfter === undefined ? undefined : { notAfter };
      const expiresAt = await entryEnd(tx, { caId: ca.id, serial }, certificate);
      const known = kind !== "bare";
      entries.push({ caId: ca.id, serial, revokedAt: at, reason, known, expiresAt });
    }
    const sequences = await tx.revocations.putMany(ca.id, entries);
    const author = authorOf(run);
    for (const [index, { serial, kind, heldSince }] of changes.entries()) {
      const sequence = sequences[index];
      assert(sequence !== undefined, "every change has its number");
      if (kind === "ca") await tx.cas.retireSubject(ca.id, serial);
      const told = { caId: ca.id, tenant: ca.tenant, serial, to, reason, bulkOp: run.id } as const;
      const facts = { known: kind !== "bare", heldSince, sequence };
      await tx.audit.appendEvent(revocationEvent(author, { ...told, ...facts }), at);
    }
    if (reason === "keyCompromise") await this.#block(tx, run, ca, changes, at);
  }

  /** Keys that leaked are never certified again, under whatever name. */
  async #block(
    tx: Unit,
    run: BulkRun,
    ca: Pick<CaRecord, "id" | "tenant">,
    changes: readonly Change[],
    at: Instant,
  ): Promise<void> {
    const { random } = this.#deps;
    const records = new Map<string, BlockedKeyRecord>();
    const tenant = blockedFor(run.maker, ca.tenant, false);
    for (const { serial, kind, spkiSha256 } of changes) {
      if (spkiSha256 === undefined || !blocksItsKey(kind) || records.has(spkiSha256)) continue;
      const certificate = await tx.certificates.lock(ca.id, serial);
      if (certificate === undefined) continue;
      const by = { source: "revocation" as const, createdBy: run.actor, createdAt: at };
      const facts = { tenant, reason: `serial ${serial} was revoked`, ...by };
      const newId = () => orderedId(at, random.bytes(10));
      for (const record of blockings(digestsOf(certificate), facts, newId)) {
        if (!records.has(record.spkiSha256)) records.set(record.spkiSha256, record);
      }
    }
    const blocked = await tx.keyChecks.blockMany([...records.values()]);
    const author = authorOf(run);
    for (const record of blocked) await tx.audit.appendEvent(blockEvent(author, record), at);
  }
}

/** One serial that becomes revoked or held. */
interface Change extends RunSerial {
  readonly kind: RevocationChange["kind"];
  readonly notAfter: Instant | undefined;
  readonly spkiSha256: string | undefined;
  readonly heldSince: Instant | undefined;
}

const authorOf = ({ actor, actorName, actorRoles, ip, requestId }: BulkRun) => ({
  actor,
  actorName,
  actorRoles,
  ip,
  requestId,
});
