/** Answers OCSP requests in the order of STAT-1, from a cache that no revocation can make wrong. */

import type { CaId, Serial } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { Recent } from "#core/recent.ts";
import { addSeconds, type Instant, instant } from "#core/time.ts";
import {
  type CertId,
  certIdsOf,
  encodeOcspError,
  type OcspRequest,
  type ocspStatus,
  parseOcspRequest,
} from "#core/x509/ocsp.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { type Issuer, IssuerIndex, type Lineage, latin1 } from "./issuers.ts";
import { signAnswer } from "./ocsp-answer.ts";
import type { OcspSigning } from "./ocsp-signing.ts";
import { type PresignedRecord, presignHashes } from "./presign-store.ts";
import type { Responders, Voucher } from "./responder.ts";
import type { RevocationSections } from "./sections.ts";
import type { CertStatus } from "./store.ts";

export interface OcspDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly responders: Responders;
  readonly signing: OcspSigning;
  /** With `presign.enabled` answers signed ahead are given before any is signed now. */
  readonly config: Pick<RevocationSections, "ocsp" | "presign" | "issuance" | "server">;
  /**
   * True for profiles with `lint.public`: their answers live `validity_hours` also with a nonce
   * (OCS-2).
   */
  readonly publicProfile: (profile: string) => boolean;
  /** Told every serial asked about that is known; a sweep signs ahead for those lately asked. */
  readonly onAsked: (ca: CaId, serial: Serial) => void;
  /** Told every fault that is not a refusal; the asker learns internalError. */
  readonly onFault: (error: unknown) => void;
}

/** One OCSPResponse. */
export interface OcspAnswer {
  readonly der: Uint8Array;
  readonly status: keyof typeof ocspStatus;
  /** Set when shared caches may keep it: no nonce, and nothing in it is unknown. */
  readonly validity: { readonly thisUpdate: Instant; readonly nextUpdate: Instant } | undefined;
  /** Seconds after which to ask again, when the guard shed the request. */
  readonly retryAfter: number | undefined;
  /** Why it is true and may be given again; undefined for answers that are given once. */
  readonly basis: Basis | undefined;
}

/**
 * Why a kept answer is true: what was found, and the revocation sequence at which it was last
 * looked at.
 */
interface Basis {
  readonly caId: CaId;
  readonly serial: Serial;
  readonly certStatus: CertStatus;
  readonly signer: Voucher;
  readonly keepUntil: Instant;
  sequence: number;
}

/** The responder of every CA of the instance. */
export class Ocsp {
  readonly #deps: OcspDeps;
  readonly #issuers: IssuerIndex;
  readonly #cache: Recent<string, OcspAnswer>;
  readonly #statuses: Recent<string, KnownStatus>;

  constructor(deps: OcspDeps) {
    this.#deps = deps;
    this.#cache = new Recent(deps.config.server.ocsp_cache_entries);
    this.#statuses = new Recent(deps.config.server.ocsp_cache_entries);
    this.#issuers = new IssuerIndex(deps.store);
  }

  /** The answer to the DER of an OCSPRequest asked under a CA id; never throws. */
  async answer(id: CaId, der: Uint8Array): Promise<OcspAnswer> {
    try {
      const request = parseOcspRequest(der);
      if (request === undefined) return errors.malformedRequest;
      const lineage = await this.#issuers.lineage(id);
      const own = lineage?.member(id);
      if (lineage === undefined || own === undefined) return errors.unauthorized;
      return await this.#answerFor({ id, own, lineage, request });
    } catch (error) {
      return this.#fault(error);
    }
  }

  /**
   * True while a given answer may be given again. Reads the store-wide revocation sequence, so that
   * the first answer after an acknowledged change is right in every process (OCS-4); only when it
   * has moved is the serial looked up.
   */
  stillTrue(answer: OcspAnswer): boolean | Promise<boolean> {
    const { basis, validity } = answer;
    const now = this.#deps.clock.now();
    if (basis === undefined || basis.keepUntil <= now) return false;
    // Made before the clock was set back: to whoever asks now it comes from the future.
    if (validity !== undefined && validity.thisUpdate > now) return false;
    const sequence = this.#deps.store.read.revocations.sequence();
    if (typeof sequence !== "number") return sequence.then((read) => this.#stillValid(basis, read));
    return sequence === basis.sequence || this.#stillValid(basis, sequence);
  }

  async #stillValid(basis: Basis, sequence: number): Promise<boolean> {
    if (sequence === basis.sequence) return true;
    const { revocations } = this.#deps.store.read;
    const certStatus = await revocations.certStatus(basis.caId, basis.serial);
    if (!sameStatus(certStatus, basis.certStatus)) return false;
    if (!(await this.#deps.responders.usable(basis.signer, sequence))) return false;
    basis.sequence = sequence;
    return true;
  }

  async #answerFor(asked: Asked): Promise<OcspAnswer> {
    const nonce = this.#deps.config.ocsp.nonce_enabled ? asked.request.nonce : undefined;
    const [certId, second] = asked.request.certIds;
    const cacheable = nonce === undefined && certId !== undefined && second === undefined;
    if (!cacheable) return await this.#fresh(asked, nonce);
    const key = `${asked.id}${latin1(certId.der)}`;
    const kept = this.#cache.get(key);
    if (kept !== undefined && (await this.stillTrue(kept))) return kept;
    const ahead = this.#deps.config.presign.enabled
      ? await this.#presigned(asked, certId)
      : undefined;
    const answer = ahead ?? (await this.#fresh(asked, undefined));
    if (answer.basis === undefined) this.#cache.delete(key);
    else this.#cache.set(key, answer);
    return answer;
  }

  /**
   * The answer signed ahead, when there is one for this very certID that is newer than the last
   * change of its serial (PRE-2); it needs no key, so it is given while the provider is away, until
   * its nextUpdate (PRE-3).
   */
  async #presigned(asked: Asked, certId: CertId): Promise<OcspAnswer | undefined> {
    const { store, clock, responders, onAsked } = this.#deps;
    const hash = presignHashes.find((known) => known === certId.hash);
    const { serial } = certId;
    if (hash === undefined || serial === undefined) return undefined;
    const sequence = await store.read.revocations.sequence();
    const issuer = await this.#issuers.member(asked.lineage, certId);
    if (issuer === undefined) return undefined;
    const { id: caId, spki } = issuer.ca;
    const { certStatus, presigned } = await store.read.presigned.find(caId, serial, hash);
    if (certStatus.status !== "unknown") onAsked(caId, serial);
    if (presigned === undefined || !saysSo(presigned.revoked, certStatus)) return undefined;
    const asWritten = certIdsOf({ name: issuer.subject.der, spki }, hash)(serial);
    if (Buffer.compare(asWritten, certId.der) !== 0) return undefined; // OCS-1: echoed as asked.
    const { response, responder, thisUpdate, nextUpdate } = presigned;
    if (thisUpdate > clock.now()) return undefined;
    const signer: Voucher = { caId, serial: responder, notAfter: nextUpdate };
    if (!(await responders.usable(signer, sequence))) return undefined;
    const validity = { thisUpdate, nextUpdate };
    const keepUntil = this.#keepUntil(clock.now(), nextUpdate);
    const basis = { caId, serial, certStatus, signer, keepUntil, sequence };
    return { der: response, status: "successful", validity, retryAfter: undefined, basis };
  }

  async #fresh(asked: Asked, nonce: Uint8Array | undefined): Promise<OcspAnswer> {
    const { store, clock, responders, signing, config } = this.#deps;
    // The sequence goes first: a change after it is seen as a later sequence, never missed.
    const sequence = await store.read.revocations.sequence();
    const { issuer, found } = await this.#lookUp(asked, sequence);
    const signer = await responders.signer(issuer, sequence);
    const now = clock.now();
    const entries = found.map(({ certId, certStatus }) => ({ certId: certId.der, certStatus }));
    const [first, second] = found;
    const serial = first?.certId.serial;
    const validitySeconds = this.#validitySeconds(nonce, found);
    const backdateSeconds = config.issuance.backdate_seconds;
    const { der, times } = await signAnswer(signing, {
      signer,
      entries,
      nonce,
      serial,
      now,
      validitySeconds,
      backdateSeconds,
    });
    const unknown = found.some(({ certStatus }) => certStatus.status === "unknown");
    const validity = nonce === undefined && !unknown ? times : undefined;
    const given = { der, status: "successful", validity, retryAfter: undefined } as const;
    // An answer about several serials would have to be looked after for each of them.
    if (validity === undefined || serial === undefined || second !== undefined || !first) {
      return { ...given, basis: undefined };
    }
    const keepUntil = this.#keepUntil(now, times.nextUpdate);
    const { certStatus } = first;
    return {
      ...given,
      basis: { caId: signer.caId, serial, certStatus, signer, keepUntil, sequence },
    };
  }

  /**
   * The first entry that names a key of the lineage decides who signs; entries naming another are
   * unknown.
   */
  async #lookUp(
    asked: Asked,
    sequence: number,
  ): Promise<{ issuer: Issuer; found: readonly Found[] }> {
    let decided: Issuer | undefined;
    const found: Found[] = [];
    for (const certId of asked.request.certIds) {
      const issuer = await this.#issuers.member(asked.lineage, certId);
      decided ??= issuer;
      const answerable = issuer !== undefined && issuer === decided && certId.serial !== undefined;
      const certStatus = answerable
        ? await this.#certStatus(issuer.ca.id, certId.serial, sequence)
        : unknownStatus;
      if (issuer !== undefined && certId.serial !== undefined && certStatus.status !== "unknown") {
        this.#deps.onAsked(issuer.ca.id, certId.serial);
      }
      found.push({ certId, certStatus });
    }
    return { issuer: decided ?? asked.own, found };
  }

  /**
   * From memory while nothing has changed since it was read: answers with a nonce are new, what
   * they say is not.
   */
  #certStatus(caId: CaId, serial: Serial, sequence: number): CertStatus | Promise<CertStatus> {
    const known = this.#statuses.get(`${caId}${serial}`);
    const now = this.#deps.clock.now();
    if (known?.sequence === sequence && now < known.keepUntil) return known.certStatus;
    return this.#readStatus(caId, serial, sequence);
  }

  async #readStatus(caId: CaId, serial: Serial, sequence: number): Promise<CertStatus> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const certStatus = await store.read.revocations.certStatus(caId, serial);
    // A serial nobody knows may be issued at any moment, which no sequence tells.
    if (certStatus.status !== "unknown") {
      const keepUntil = addSeconds(now, this.#cacheSeconds);
      this.#statuses.set(`${caId}${serial}`, { certStatus, sequence, keepUntil });
    }
    return certStatus;
  }

  /**
   * OCS-2: with a nonce an answer is for the asker alone, except where the Baseline Requirements
   * want it to last.
   */
  #validitySeconds(nonce: Uint8Array | undefined, found: readonly Found[]): number {
    const { nonce_max_age_seconds, validity_hours } = this.#deps.config.ocsp;
    const short =
      nonce !== undefined && !found.some(({ certStatus }) => this.#isPublic(certStatus));
    return short ? nonce_max_age_seconds : validity_hours * 3600;
  }

  #keepUntil(now: Instant, nextUpdate: Instant): Instant {
    return instant(Math.min(addSeconds(now, this.#cacheSeconds), nextUpdate));
  }

  get #cacheSeconds(): number {
    return Math.max(0, this.#deps.config.server.ocsp_cache_ttl_seconds);
  }

  #isPublic(certStatus: CertStatus): boolean {
    if (certStatus.status === "unknown" || certStatus.profile === undefined) return false;
    return this.#deps.publicProfile(certStatus.profile);
  }

  #fault(error: unknown): OcspAnswer {
    if (error instanceof Problem && error.code === "overloaded") {
      const retryAfter = Number(error.facts.retry_after ?? 2);
      return { ...errors.tryLater, retryAfter };
    }
    if (error instanceof Problem && error.code === "key_unavailable") return errors.tryLater;
    // Without the database nobody here knows what has been revoked elsewhere. The store tells its
    // own faults; repeating one for every question would drown the log.
    if (error instanceof Problem && error.code === "storage_unavailable") {
      return { ...errors.tryLater, retryAfter: Number(error.facts.retry_after ?? 2) };
    }
    this.#deps.onFault(error);
    return errors.internalError;
  }
}

interface Asked {
  readonly id: CaId;
  /** The CA of that id, who signs when no entry names a key of the lineage. */
  readonly own: Issuer;
  readonly lineage: Lineage;
  readonly request: OcspRequest;
}

interface Found {
  readonly certId: CertId;
  readonly certStatus: CertStatus;
}

/** What was found, at which number of the revocation sequence. */
interface KnownStatus {
  readonly certStatus: CertStatus;
  readonly sequence: number;
  readonly keepUntil: Instant;
}

function sameStatus(a: CertStatus, b: CertStatus): boolean {
  if (a.status !== "revoked" || b.status !== "revoked") return a.status === b.status;
  return a.at === b.at && a.reason === b.reason;
}

/** True when an answer signed ahead says what is so now. */
function saysSo(revoked: PresignedRecord["revoked"], certStatus: CertStatus): boolean {
  if (certStatus.status !== "revoked") return revoked === undefined && certStatus.status === "good";
  return (
    revoked !== undefined && revoked.at === certStatus.at && revoked.reason === certStatus.reason
  );
}

const unknownStatus: CertStatus = { status: "unknown" };

const errorAnswer = (status: Exclude<keyof typeof ocspStatus, "successful">): OcspAnswer => ({
  der: encodeOcspError(status),
  status,
  validity: undefined,
  retryAfter: undefined,
  basis: undefined,
});
const errors = {
  malformedRequest: errorAnswer("malformedRequest"),
  unauthorized: errorAnswer("unauthorized"),
  tryLater: errorAnswer("tryLater"),
  internalError: errorAnswer("internalError"),
};
