/** Answers OCSP requests in the order of STAT-1, from a cache that no revocation can make wrong. */

import { following, promised } from "#core/at-once.ts";
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
  parseOcspRequestBy,
} from "#core/x509/ocsp.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { type Issuer, IssuerIndex, type Lineage } from "./issuers.ts";
import { signAnswer } from "./ocsp-answer.ts";
import type { OcspSigning } from "./ocsp-signing.ts";
import { type PresignedRecord, presignHashes } from "./presign-store.ts";
import { type Question, Questions } from "./questions.ts";
import type { OcspSigner, Responders, Voucher } from "./responder.ts";
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
  readonly #questions: Questions;

  constructor(deps: OcspDeps) {
    this.#deps = deps;
    const measure = (key: string, { der }: OcspAnswer) => key.length + der.length + responseBytes;
    const bytes = { max: cacheBytesMax, measure };
    this.#cache = new Recent(deps.config.server.ocsp_cache_entries, bytes);
    this.#questions = new Questions(deps.config.server.ocsp_cache_entries);
    this.#issuers = new IssuerIndex(deps.store);
  }

  /** The answer to the DER of an OCSPRequest asked under a CA id; never throws. */
  answer(id: CaId, der: Uint8Array): Promise<OcspAnswer> {
    return promised(() => this.#answer(id, der)).catch((error) => this.#fault(error));
  }

  /** At once as far as what it takes is there: fresh ones are asked for by the hundred thousand. */
  #answer(id: CaId, der: Uint8Array): OcspAnswer | Promise<OcspAnswer> {
    const request = parseOcspRequestBy(der, (certId) => this.#questions.read(id, certId));
    if (request === undefined) return errors.malformedRequest;
    return following(this.#issuers.lineage(id), (lineage) => {
      const own = lineage?.member(id);
      if (lineage === undefined || own === undefined) return errors.unauthorized;
      return this.#answerFor({ own, lineage, request });
    });
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

  #answerFor(asked: Asked): OcspAnswer | Promise<OcspAnswer> {
    const nonce = this.#deps.config.ocsp.nonce_enabled ? asked.request.nonce : undefined;
    const [question, second] = asked.request.certIds;
    const cacheable = nonce === undefined && question !== undefined && second === undefined;
    return cacheable ? this.#repeated(asked, question) : this.#fresh(asked, nonce);
  }

  async #repeated(asked: Asked, question: Question): Promise<OcspAnswer> {
    const { key } = question;
    const kept = this.#cache.get(key);
    if (kept !== undefined && (await this.stillTrue(kept))) return kept;
    const ahead = this.#deps.config.presign.enabled
      ? await this.#presigned(asked, question)
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
    const basis = this.#isCaching
      ? { caId, serial, certStatus, signer, keepUntil, sequence }
      : undefined;
    return { der: response, status: "successful", validity, retryAfter: undefined, basis };
  }

  #fresh(asked: Asked, nonce: Uint8Array | undefined): OcspAnswer | Promise<OcspAnswer> {
    const { store, responders } = this.#deps;
    // The sequence goes first: a change after it is seen as a later sequence, never missed.
    return following(store.read.revocations.sequence(), (sequence) =>
      following(this.#lookUp(asked, sequence), ({ issuer, found }) =>
        following(responders.signer(issuer, sequence), (signer) =>
          this.#signed({ found, signer, nonce, sequence }),
        ),
      ),
    );
  }

  #signed({ found, signer, nonce, sequence }: ToSay): Promise<OcspAnswer> {
    const { clock, signing, config } = this.#deps;
    const now = clock.now();
    const serial = found[0]?.question.serial;
    const statement = {
      signer,
      entries: found.map(({ question, certStatus }) => ({ certId: question.der, certStatus })),
      nonce,
      serial,
      now,
      validitySeconds: this.#validitySeconds(nonce, found),
      backdateSeconds: config.issuance.backdate_seconds,
    };
    return signAnswer(signing, statement).then(({ der, times }) => {
      const unknown = found.some(({ certStatus }) => certStatus.status === "unknown");
      const validity = nonce === undefined && !unknown ? times : undefined;
      const [first, second] = found;
      // An answer about several serials would have to be looked after for each of them.
      const basis =
        !this.#isCaching || validity === undefined || serial === undefined || second || !first
          ? undefined
          : {
              caId: signer.caId,
              serial,
              certStatus: first.certStatus,
              signer,
              keepUntil: this.#keepUntil(now, times.nextUpdate),
              sequence,
            };
      return { der, status: "successful", validity, retryAfter: undefined, basis };
    });
  }

  /**
   * The first entry that names a key of the lineage decides who signs; entries naming another are
   * unknown.
   */
  #lookUp(asked: Asked, sequence: number): Looked | Promise<Looked> {
    const [only, second] = asked.request.certIds;
    if (only === undefined || second !== undefined) return this.#lookUpEach(asked, sequence);
    return following(this.#member(asked.lineage, only), (issuer) =>
      following(this.#standing(only, issuer, sequence), (certStatus) => ({
        issuer: issuer ?? asked.own,
        found: [{ question: only, certStatus }],
      })),
    );
  }

  async #lookUpEach(asked: Asked, sequence: number): Promise<Looked> {
    let decided: Issuer | undefined;
    const found: Found[] = [];
    for (const question of asked.request.certIds) {
      const issuer = await this.#member(asked.lineage, question);
      decided ??= issuer;
      const answerable = issuer === decided ? issuer : undefined;
      found.push({ question, certStatus: await this.#standing(question, answerable, sequence) });
    }
    return { issuer: decided ?? asked.own, found };
  }

  #member(lineage: Lineage, question: Question): Issuer | undefined | Promise<Issuer | undefined> {
    const { named } = question;
    if (named?.lineage === lineage) return named.issuer;
    return following(this.#issuers.member(lineage, question), (issuer) => {
      question.named = issuer && { lineage, issuer };
      return issuer;
    });
  }

  /** What is so of the serial under this issuer; unknown where no issuer answers for it. */
  #standing(
    question: Question,
    issuer: Issuer | undefined,
    sequence: number,
  ): CertStatus | Promise<CertStatus> {
    const { serial } = question;
    if (issuer === undefined || serial === undefined) return unknownStatus;
    const caId = issuer.ca.id;
    return following(this.#certStatus(question, { caId, serial }, sequence), (certStatus) => {
      if (certStatus.status !== "unknown") this.#deps.onAsked(caId, serial);
      return certStatus;
    });
  }

  /**
   * From memory while nothing has changed since it was read: answers with a nonce are new, what
   * they say is not.
   */
  #certStatus(
    question: Question,
    named: Named,
    sequence: number,
  ): CertStatus | Promise<CertStatus> {
    const { known } = question;
    if (known?.sequence === sequence && known.caId === named.caId) {
      if (this.#deps.clock.now() < known.keepUntil) return known.certStatus;
    }
    return this.#readStatus(question, named, sequence);
  }

  async #readStatus(
    question: Question,
    { caId, serial }: Named,
    sequence: number,
  ): Promise<CertStatus> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const certStatus = await store.read.revocations.certStatus(caId, serial);
    // A serial nobody knows may be issued at any moment, which no sequence tells.
    if (certStatus.status !== "unknown" && this.#isCaching) {
      const keepUntil = addSeconds(now, this.#cacheSeconds);
      question.known = { caId, certStatus, sequence, keepUntil };
      this.#questions.keep(question);
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

  /** False while nothing is kept for a serial (`server.ocsp_cache_ttl_seconds: -1`). */
  get #isCaching(): boolean {
    return this.#cacheSeconds > 0;
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
  /** The CA of the id asked under, who signs when no entry names a key of the lineage. */
  readonly own: Issuer;
  readonly lineage: Lineage;
  readonly request: OcspRequest<Question>;
}

interface Found {
  readonly question: Question;
  readonly certStatus: CertStatus;
}

/** What was found of every entry, and who answers for it. */
interface Looked {
  readonly issuer: Issuer;
  readonly found: readonly Found[];
}

/** What is to be said, by whom, as of which revocation sequence. */
interface ToSay {
  readonly found: readonly Found[];
  readonly signer: OcspSigner;
  readonly nonce: Uint8Array | undefined;
  readonly sequence: number;
}

/** A certificate by its issuer's id and its serial. */
interface Named {
  readonly caId: CaId;
  readonly serial: Serial;
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

/** Bytes of a cached response without its key and its DER. */
const responseBytes = 600;
const cacheBytesMax = 48 * 1024 ** 2;
