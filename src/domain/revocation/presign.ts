/**
 * Signs OCSP answers ahead, so that they outlast an outage of the key provider (PRE-1 to PRE-3).
 */

import { effectiveRoles } from "#core/access/principal.ts";
import type { CaId, Serial } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { Recent } from "#core/recent.ts";
import { shared } from "#core/shared.ts";
import { addSeconds, type Instant, instant } from "#core/time.ts";
import { certIdsOf } from "#core/x509/ocsp.ts";
import type { Origin } from "#domain/actor.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { type Issuer, issuerOf } from "./issuers.ts";
import { signAnswer } from "./ocsp-answer.ts";
import type { OcspSigning } from "./ocsp-signing.ts";
import {
  type PresignCandidate,
  type PresignedRecord,
  type PresignHash,
  presignHashes,
} from "./presign-store.ts";
import type { OcspSigner, Responders } from "./responder.ts";
import type { RevocationSections } from "./sections.ts";

export interface PresignDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly responders: Pick<Responders, "signer">;
  readonly signing: Pick<OcspSigning, "sign">;
  readonly config: Pick<RevocationSections, "presign" | "issuance">;
}

/** What a sweep came to. */
export interface PresignReport {
  /** Answers in place for what was swept: signed now, or young enough. */
  readonly responses: number;
  readonly signed: number;
  /** Answers that could not be signed because signing requests of callers went first. */
  readonly shed: number;
  readonly seconds: number;
  /** Why a CA was left out, the first one met; its answers stay until their nextUpdate. */
  readonly failure: unknown;
}

/** Sweeps over everything worth an answer, a page at a time. */
export class Presigner {
  readonly #deps: PresignDeps;
  /** What was asked about, wherever it is in the inventory: also what has long expired. */
  readonly #asked: Recent<string, { readonly ca: CaId; readonly serial: Serial }>;
  #changed = new Recent<string, { readonly ca: CaId; readonly serial: Serial }>(changedMax);
  /** Until when a key that is away is left alone. */
  #restingUntil = 0;
  readonly #sweepAll = shared(() => this.#sweep(undefined));

  constructor(deps: PresignDeps) {
    this.#deps = deps;
    this.#asked = new Recent(Math.max(1, deps.config.presign.recent_capacity));
  }

  /** Remembers that the answers about a serial are gone, because its revocation state changed. */
  changed(ca: CaId, serial: Serial): void {
    if (this.#deps.config.presign.enabled) this.#changed.set(`${ca}/${serial}`, { ca, serial });
  }

  /**
   * Signs ahead again what changed since the last call. What is shed is left to the next sweep;
   * throws why a CA was left out, after all others were done, and its changes wait for the next
   * call.
   */
  async refreshChanged(): Promise<void> {
    const changed = this.#changed.values();
    const rest = this.#restingUntil - this.#deps.clock.now();
    // A clock that was set back meanwhile prolongs no rest.
    if (changed.length === 0 || (rest > 0 && rest <= restMs)) return;
    this.#changed = new Recent(changedMax);
    let failure: unknown;
    for (const [id, serials] of Map.groupBy(changed, ({ ca }) => ca)) {
      try {
        const ca = await this.#deps.store.read.cas.byId(id);
        if (ca?.certificate === undefined || (ca.notAfter ?? 0) < this.#deps.clock.now()) continue;
        await this.#refreshSerials(
          issuerOf(ca),
          serials.map(({ serial }) => serial),
          emptyTally(),
        );
      } catch (error) {
        // One CA whose key is away, or a read that failed, must not cost any of them their answers.
        for (const { serial } of serials) this.changed(id, serial);
        failure ??= error;
      }
    }
    if (failure === undefined) return;
    this.#restingUntil = this.#deps.clock.now() + restMs;
    throw failure;
  }

  /** Remembers a serial that was asked about. */
  asked(ca: CaId, serial: Serial): void {
    const { enabled, recently_queried } = this.#deps.config.presign;
    if (enabled && recently_queried) this.#asked.set(`${ca}/${serial}`, { ca, serial });
  }

  /**
   * Sweeps and records it, one CA or all. Throws why a CA was left out, after all others have been
   * swept. A sweep by the clock that signed nothing is no event.
   */
  async run(origin: Origin, only?: CaId): Promise<PresignReport> {
    const report = await this.sweep(only);
    const { responses, signed, shed, seconds, failure } = report;
    const failed = failure !== undefined;
    const { principal, ip, requestId } = origin;
    const now = this.#deps.clock.now();
    const last = {
      at: now,
      result: failed ? "error" : "success",
      responses,
      signed,
      shed,
      seconds,
    };
    await this.#deps.store.atomically(async (tx) => {
      await tx.instance.setValue(lastSweep, JSON.stringify(last));
      if (principal.mechanism === "system" && signed === 0 && !failed) return;
      await tx.audit.appendEvent(
        {
          action: "ocsp.presign",
          result: failed ? "error" : "success",
          caId: only,
          actor: principal.subject,
          actorName: principal.name,
          target: only,
          actorRoles: effectiveRoles(principal, undefined),
          ip,
          requestId,
          detail: { responses, signed, shed, duration: seconds },
        },
        now,
      );
    });
    if (failed) throw failure;
    return report;
  }

  /**
   * Signs what is missing or old, for one CA or for all. Who comes while a sweep over all runs
   * waits for the next, all such for the same one: the one that runs may have passed what was
   * issued just now. Does not throw for a CA that cannot sign: the others are swept, and the
   * report says why.
   */
  sweep(only?: CaId): Promise<PresignReport> {
    return only === undefined ? this.#sweepAll() : this.#sweep(only);
  }

  async #sweep(only: CaId | undefined): Promise<PresignReport> {
    const { store, clock } = this.#deps;
    const began = clock.now();
    const tally = emptyTally();
    for (const ca of await store.read.cas.signing()) {
      if (only !== undefined && ca.id !== only) continue;
      if ((ca.notAfter ?? 0) < clock.now()) continue; // An expired CA signs nothing.
      try {
        await this.#sweepCa(ca, tally);
      } catch (error) {
        // One CA whose key is away must not cost the others their answers.
        tally.failure ??= error;
      }
    }
    await this.#prune();
    return { ...tally, seconds: (clock.now() - began) / 1000 };
  }

  async #sweepCa(ca: CaRecord, tally: Tally): Promise<void> {
    const { presigned } = this.#deps.store.read;
    const issuer = issuerOf(ca);
    const oldest = addSeconds(this.#deps.clock.now(), -60 * this.#graceMinutes);
    const worth = ({ certStatus, notAfter }: PresignCandidate) =>
      certStatus.status === "revoked" || (notAfter ?? 0) >= oldest;
    const bare = (candidate: PresignCandidate) => !candidate.inventoried;
    for (const [walk, chosen] of [
      [presigned.issued, worth],
      [presigned.revoked, bare],
    ] as const) {
      let after: Serial | undefined;
      do {
        const sequence = await this.#deps.store.read.revocations.sequence();
        const page = await walk(ca.id, pageRows, after);
        await this.#refresh(issuer, sequence, page.filter(chosen), tally);
        after = page.at(-1)?.serial;
      } while (after !== undefined);
    }
    const lately = this.#asked.values().filter((one) => one.ca === ca.id);
    const serials = lately.map(({ serial }) => serial);
    await this.#refreshSerials(issuer, serials, tally, (candidate) => !worth(candidate));
  }

  async #refreshSerials(
    issuer: Issuer,
    serials: readonly Serial[],
    tally: Tally,
    wanted: (candidate: PresignCandidate) => boolean = () => true,
  ): Promise<void> {
    const { presigned, revocations } = this.#deps.store.read;
    for (let at = 0; at < serials.length; at += pageRows) {
      const sequence = await revocations.sequence();
      const found = await presigned.among(issuer.ca.id, serials.slice(at, at + pageRows));
      await this.#refresh(issuer, sequence, found.filter(wanted), tally);
    }
  }

  /**
   * Signs what a page lacks, and keeps it unless the serial changed meanwhile. `sequence` was read
   * before the page.
   */
  async #refresh(
    issuer: Issuer,
    sequence: number,
    page: readonly PresignCandidate[],
    tally: Tally,
  ): Promise<void> {
    if (page.length === 0) return;
    const stamp = await this.#deps.store.read.revocations.stamp();
    const signer = await this.#deps.responders.signer(issuer, stamp);
    // Half a period: whoever sweeps again, or goes on after a crash, signs nothing twice.
    const now = this.#deps.clock.now();
    const young = addSeconds(now, -30 * this.#deps.config.presign.refresh_minutes);
    const wanted = page.flatMap((candidate) =>
      presignHashes.map((hash): Wanted => ({ candidate, hash })),
    );
    const due = wanted.filter(({ candidate, hash }) => {
      const ahead = candidate.signed[hash];
      if (ahead === undefined || ahead.responder !== signer.serial) return true;
      // One from the future was signed by a clock that has been set back.
      return ahead.at <= young || ahead.at > now;
    });
    tally.responses += wanted.length - due.length;
    const maker = this.#maker(issuer, signer);
    for (let at = 0; at < due.length; at += inFlight * roundsPerUnit) {
      const rows = await inRounds(due.slice(at, at + inFlight * roundsPerUnit), maker);
      const signed = rows.filter((row) => row !== undefined);
      tally.shed += rows.length - signed.length;
      const kept = await this.#deps.store.atomically((tx) =>
        tx.presigned.keep(issuer.ca.id, sequence, signed),
      );
      tally.signed += kept;
      tally.responses += kept;
    }
  }

  /** Gives undefined for an answer that was shed: the one before it is still good for a while. */
  #maker(issuer: Issuer, signer: OcspSigner) {
    const { clock, signing, config } = this.#deps;
    const named = { name: issuer.subject.der, spki: issuer.ca.spki };
    const certIds = { sha1: certIdsOf(named, "sha1"), sha256: certIdsOf(named, "sha256") };
    const validitySeconds = config.presign.validity_minutes * 60;
    const backdateSeconds = config.issuance.backdate_seconds;
    return async ({ candidate, hash }: Wanted): Promise<PresignedRecord | undefined> => {
      const { serial, certStatus } = candidate;
      const now = clock.now();
      const entries = [{ certId: certIds[hash](serial), certStatus }];
      try {
        const { der, times } = await signAnswer(signing, {
          signer,
          entries,
          nonce: undefined,
          serial,
          now,
          validitySeconds,
          backdateSeconds,
        });
        return {
          caId: issuer.ca.id,
          serial,
          hash,
          response: der,
          responder: signer.serial,
          producedAt: now,
          ...times,
          revoked: revokedIn(certStatus),
        };
      } catch (error) {
        if (error instanceof Problem && error.code === "overloaded") return undefined;
        throw error;
      }
    };
  }

  async #prune(): Promise<void> {
    const { store, clock } = this.#deps;
    let gone: number;
    do {
      const now = clock.now();
      gone = await store.atomically((tx) => tx.presigned.prune(now, pageRows));
    } while (gone === pageRows);
  }

  get #graceMinutes(): number {
    return Math.max(0, this.#deps.config.presign.expired_grace_minutes);
  }
}

/** What is being counted while a sweep runs. */
interface Tally {
  responses: number;
  signed: number;
  shed: number;
  failure: unknown;
}

const emptyTally = (): Tally => ({ responses: 0, signed: 0, shed: 0, failure: undefined });

interface Wanted {
  readonly candidate: PresignCandidate;
  readonly hash: PresignHash;
}

const revokedIn = (certStatus: PresignCandidate["certStatus"]): PresignedRecord["revoked"] =>
  certStatus.status === "revoked" ? { at: certStatus.at, reason: certStatus.reason } : undefined;

/**
 * A few at a time, so that callers who want a signature now do not wait behind a sweep. What was
 * shed is asked for once more by itself, because the few may have been more than the guard lets
 * wait.
 */
async function inRounds<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R | undefined>,
): Promise<(R | undefined)[]> {
  const results: (R | undefined)[] = [];
  for (let at = 0; at < items.length; at += inFlight) {
    const round = items.slice(at, at + inFlight);
    const made = await Promise.all(round.map(work));
    for (const [index, item] of round.entries()) results.push(made[index] ?? (await work(item)));
  }
  return results;
}

/** The value of the instance that tells the last sweep, as JSON. */
/** When the last sweep ended and whether it could sign everything; undefined before the first. */
export async function lastSweepOf({
  read,
}: Pick<Store, "read">): Promise<
  { readonly at: Instant; readonly succeeded: boolean } | undefined
> {
  const text = await read.instance.value(lastSweep);
  if (text === undefined) return undefined;
  // Written above, and by nobody else.
  const { at, result } = JSON.parse(text) as { at: number; result: string };
  return { at: instant(at), succeeded: result === "success" };
}

const lastSweep = "presign_sweep";
/**
 * Rows looked at in one read, signatures under way at once, and rounds of them that share a commit.
 */
const pageRows = 250;
const inFlight = 8;
const roundsPerUnit = 16;
/** Changes remembered between two looks; what is beyond them waits for the sweep. */
const changedMax = 100_000;
const restMs = 30_000;
