/**
 * Delegated OCSP responders: one key and certificate per CA key, made when the CA becomes active,
 * renewed at half of their life.
 */

import type { CaId, Serial } from "#core/ids.ts";
import { placeValidity } from "#core/policy/validity.ts";
import { Problem, refuse } from "#core/problems.ts";
import { Recent } from "#core/recent.ts";
import { addSeconds, type Instant, instant } from "#core/time.ts";
import {
  defaultSignature,
  isPostQuantum,
  type KeyType,
  mlDsaLike,
  type SignatureName,
} from "#core/x509/algorithms.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import {
  authorityKeyIdentifier,
  extendedKeyUsage,
  keyUsage,
  ocspNoCheck,
  subjectKeyId,
  subjectKeyIdentifier,
} from "#core/x509/extensions.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { announceKey } from "#domain/signing/entries.ts";
import type { ResponderRequest } from "#domain/certificates/responder.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type { KeyHandle, Keys } from "#domain/keys.ts";
import type { Clock, Random } from "#domain/ports.ts";
import { nothingWritten, type Store } from "#domain/store.ts";
import { type Issuer, issuerOf } from "./issuers.ts";
import { keyIsGone } from "./key-gone.ts";
import { ResponderFailures } from "./responder-failures.ts";
import type { RevocationSections } from "./sections.ts";
import type { ResponderRecord } from "./store.ts";

/**
 * Who vouches for answers about a CA key: its responder of this serial, or without one the CA
 * itself.
 */
export interface Voucher {
  readonly caId: CaId;
  readonly serial: Serial | undefined;
  /** Undefined where what it vouches for says since when. */
  readonly notBefore?: Instant;
  readonly notAfter: Instant;
}

/**
 * What signs the answers about one CA key; a prepared form of the responder, or of the CA itself.
 */
export interface OcspSigner extends Voucher {
  readonly issuer: Issuer;
  readonly role: "responder" | "ca";
  readonly key: KeyRef;
  readonly handle: KeyHandle;
  readonly algorithm: SignatureName;
  /** DER of the name in the responder id. */
  readonly name: Uint8Array;
  /**
   * What the response carries: the responder's certificate, or nothing when the CA signs itself.
   */
  readonly certificates: readonly Uint8Array[];
}

export interface ResponderDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: Pick<RevocationSections, "ocsp" | "issuance" | "key_provider">;
  /**
   * The ceremony of `domain/certificates`: serial, intent, ledger, signature, row of kind
   * `responder`.
   */
  readonly signCertificate: (request: ResponderRequest) => Promise<unknown>;
  /** Told why a responder could not be made, renewed or replaced. */
  readonly onFailure: (ca: CaId, error: unknown) => void;
}

/** Finds, makes, renews and replaces responders. */
export class Responders {
  readonly #deps: ResponderDeps;
  readonly #signers = new Map<CaId, OcspSigner>();
  readonly #opening = new Map<CaId, Promise<OcspSigner>>();
  /**
   * Until when nobody's question makes pkid try again: anyone may ask, and every try writes and
   * makes a key.
   */
  readonly #restingUntil = new Map<CaId, Instant>();
  readonly #failures: ResponderFailures;
  /**
   * The revocation sequence at which a responder was last known not to be revoked, by CA and
   * serial.
   */
  readonly #checkedAt = new Recent<string, number>(checkedMax);

  constructor(deps: ResponderDeps) {
    this.#deps = deps;
    this.#failures = new ResponderFailures(deps);
  }

  /**
   * The signer for answers about this CA key, valid now and not revoked at `sequence`; made when
   * there is none. Refuses `key_unavailable` when it cannot be had: answers are never signed by the
   * CA key instead (RSP-3). At once where that is known already.
   */
  signer(issuer: Issuer, sequence: number): OcspSigner | Promise<OcspSigner> {
    const kept = this.#signers.get(issuer.ca.id);
    // A CA certificate that was replaced has another serial, and may end earlier.
    const signer = kept?.issuer.ca.serial === issuer.ca.serial ? kept : undefined;
    const usable = signer !== undefined && this.usable(signer, sequence);
    return usable === true && signer !== undefined
      ? signer
      : this.#signerAnew(issuer, sequence, signer, usable);
  }

  async #signerAnew(
    issuer: Issuer,
    sequence: number,
    signer: OcspSigner | undefined,
    usable: boolean | Promise<boolean>,
  ): Promise<OcspSigner> {
    if ((await usable) && signer !== undefined) return signer;
    const opening = this.#opening.get(issuer.ca.id);
    if (opening !== undefined) return await opening;
    const fresh = this.#open(issuer);
    this.#opening.set(issuer.ca.id, fresh);
    try {
      const opened = await fresh;
      this.#signers.set(issuer.ca.id, opened);
      this.#checkedAt.set(nameOf(opened), sequence);
      return opened;
    } finally {
      this.#opening.delete(issuer.ca.id);
    }
  }

  /**
   * True while answers by this signer may be given out: begun, which one made under a wrong clock
   * may not have, not expired, and not revoked as of `sequence`. At once where that has been looked
   * up.
   */
  usable(signer: Voucher, sequence: number): boolean | Promise<boolean> {
    const now = this.#deps.clock.now();
    if (signer.notAfter <= now || (signer.notBefore ?? now) > now) return false;
    const { caId, serial } = signer;
    if (serial === undefined || this.#checkedAt.get(nameOf(signer)) === sequence) return true;
    return this.#isGood(caId, serial, sequence);
  }

  async #isGood(caId: CaId, serial: Serial, sequence: number): Promise<boolean> {
    const certStatus = await this.#deps.store.read.revocations.certStatus(caId, serial);
    if (certStatus.status !== "good") return false;
    this.#checkedAt.set(nameOf({ caId, serial }), sequence);
    return true;
  }

  /**
   * Makes a new responder with a new key at once: the old certificate was revoked. Does not throw.
   */
  async replace(id: CaId): Promise<void> {
    try {
      const ca = await this.#deps.store.read.cas.byId(id);
      if (ca === undefined || !this.#deps.config.ocsp.delegated) return;
      await this.#make(issuerOf(ca), undefined);
    } catch (error) {
      // The next answer tries again, and until then gives tryLater.
      this.#deps.onFailure(id, error);
    }
    this.#signers.delete(id);
  }

  /**
   * Makes the responder of a CA that has just become active, so that nobody's question has to wait
   * for it (RSP-2). Does not throw: the CA is active all the same, and the failure is on record.
   */
  async ensure(id: CaId): Promise<void> {
    try {
      const { cas, revocations } = this.#deps.store.read;
      const ca = await cas.byId(id);
      if (ca === undefined || ca.internal || !this.#deps.config.ocsp.delegated) return;
      await this.signer(issuerOf(ca), await revocations.stamp());
    } catch (error) {
      // Where it rests, what kept it from being made has been told.
      if (!this.#rests(id)) this.#deps.onFailure(id, error);
    }
  }

  /**
   * Makes those that are missing or whose key is gone, renews every one past half of its life,
   * tells of a key that cannot be had, and takes up those another process has renewed.
   */
  async renewals(): Promise<void> {
    if (!this.#deps.config.ocsp.delegated) return;
    const { store, clock } = this.#deps;
    for (const ca of await store.read.cas.signing()) {
      const responder = await store.read.revocations.responder(ca.id, clock.now());
      if (responder === undefined) {
        if ((ca.notAfter ?? clock.now()) > clock.now()) await this.ensure(ca.id);
        continue;
      }
      if (this.#signers.get(ca.id)?.serial !== responder.serial) this.#signers.delete(ca.id);
      const halfLife = (responder.notBefore + responder.notAfter) / 2;
      if (ca.notAfter === undefined || clock.now() > ca.notAfter) continue;
      try {
        const early = clock.now() < halfLife;
        if (early && (await this.#keyOf(ca, responder)) !== undefined) continue;
        await this.#make(issuerOf(ca), early ? undefined : responder);
        this.#signers.delete(ca.id);
      } catch (error) {
        // One CA whose key is away must not keep the others from renewing.
        await this.#failures.tell(ca, error);
      }
    }
  }

  async #open(issuer: Issuer): Promise<OcspSigner> {
    // An expired CA signs nothing, and nobody believes who signs for it.
    if ((issuer.ca.notAfter ?? 0) <= this.#deps.clock.now()) throw later();
    if (!this.#deps.config.ocsp.delegated) return await this.#caItself(issuer);
    const { revocations } = this.#deps.store.read;
    const now = this.#deps.clock.now();
    const found = await revocations.responder(issuer.ca.id, now);
    if (found === undefined || found.notAfter <= now) {
      return await this.#prepared(issuer, await this.#madeOrNewest(issuer, found));
    }
    const { status } = await revocations.certStatus(issuer.ca.id, found.serial);
    if (status === "good") return await this.#preparedOrAnew(issuer, found);
    return await this.#prepared(issuer, await this.#makeOrTryLater(issuer, undefined));
  }

  /**
   * One whose key is gone is followed by one of a new key; one whose key cannot be had now is
   * waited for.
   */
  async #preparedOrAnew(issuer: Issuer, found: ResponderRecord): Promise<OcspSigner> {
    try {
      return await this.#prepared(issuer, found);
    } catch (error) {
      // Anyone may ask: what a provider has is listed once per rest.
      if (this.#rests(issuer.ca.id)) throw error;
      await this.#failures.tell(issuer.ca, error);
      const gone = await keyIsGone(this.#deps.keys, keyRefOf(found));
      if (gone) return await this.#prepared(issuer, await this.#makeOrTryLater(issuer, undefined));
      this.#restingUntil.set(issuer.ca.id, addSeconds(this.#deps.clock.now(), restSeconds));
      throw error;
    }
  }

  /**
   * Where none can be made, because the clock stands before the CA itself, the one there is goes
   * on.
   */
  async #madeOrNewest(issuer: Issuer, old: ResponderRecord | undefined): Promise<ResponderRecord> {
    try {
      return await this.#makeOrTryLater(issuer, old);
    } catch (error) {
      const newest = await this.#deps.store.read.revocations.responder(issuer.ca.id);
      if (newest === undefined || newest.notBefore <= this.#deps.clock.now()) throw error;
      const { status } = await this.#deps.store.read.revocations.certStatus(
        issuer.ca.id,
        newest.serial,
      );
      if (status !== "good") throw error;
      return newest;
    }
  }

  async #makeOrTryLater(issuer: Issuer, old: ResponderRecord | undefined) {
    const now = this.#deps.clock.now();
    if (this.#rests(issuer.ca.id)) throw later();
    try {
      const made = await this.#make(issuer, old);
      this.#restingUntil.delete(issuer.ca.id);
      this.#failures.forget(issuer.ca.id);
      return made;
    } catch (error) {
      this.#restingUntil.set(issuer.ca.id, addSeconds(now, restSeconds));
      await this.#failures.tell(issuer.ca, error);
      if (error instanceof Problem) throw later();
      throw error;
    }
  }

  #rests(id: CaId): boolean {
    const now = this.#deps.clock.now();
    const rest = (this.#restingUntil.get(id) ?? now) - now;
    // A clock that was set back meanwhile prolongs no rest.
    return rest > 0 && rest <= restSeconds * 1000;
  }

  /**
   * A renewal keeps the key; a first or replaced responder gets a new one, destroyed when nothing
   * comes of it. So does one whose key is gone, or that has ended and whose key cannot be had: it
   * is not waited for longer, nobody is answered meanwhile.
   */
  async #make(issuer: Issuer, old: ResponderRecord | undefined): Promise<ResponderRecord> {
    const { keys, clock, random, config, store } = this.#deps;
    const kept = old && (await this.#keyOf(issuer.ca, old));
    if (kept !== undefined) return await this.#certify(issuer, kept);
    const suffix = random.uuid().slice(0, 8);
    const handle = await keys.generate({
      ...responderKey(issuer.ca.keyType, config),
      role: "responder",
      label: `ocsp-${issuer.ca.id}-${suffix}`,
    });
    try {
      const at = clock.now();
      await store.atomically((tx) => announceKey(tx, handle, "responder", "generate", at));
    } catch (error) {
      await this.#discard(issuer.ca.id, handle);
      throw error;
    }
    try {
      return await this.#certify(issuer, handle);
    } catch (error) {
      // A commit whose answer was lost may have made it the responder: then the key stays.
      if (nothingWritten(error)) await this.#discard(issuer.ca.id, handle);
      throw error;
    }
  }

  /** Undefined for one that is given up, which is told when its certificate still runs. */
  async #keyOf(ca: CaRecord, old: ResponderRecord): Promise<KeyHandle | undefined> {
    try {
      return await this.#deps.keys.find(keyRefOf(old));
    } catch (error) {
      if (!(error instanceof Problem && error.code === "key_unavailable")) throw error;
      if (old.notAfter <= this.#deps.clock.now()) return undefined;
      if (!(await keyIsGone(this.#deps.keys, keyRefOf(old)))) throw error;
      await this.#failures.tell(ca, error);
      return undefined;
    }
  }

  /**
   * Does not throw: its caller tells why there is no responder, and what stays on the token is told
   * here.
   */
  async #discard(ca: CaId, handle: KeyHandle): Promise<void> {
    const { keys, store, clock, onFailure } = this.#deps;
    try {
      await keys.destroy(handle.ref);
      const at = clock.now();
      await store.atomically((tx) => announceKey(tx, handle, "responder", "destroy", at));
    } catch (error) {
      onFailure(ca, error);
    }
  }

  async #certify({ ca: known }: Issuer, handle: KeyHandle): Promise<ResponderRecord> {
    // Read anew: the certificate of an externally signed CA may have been replaced by a longer one.
    const ca = (await this.#deps.store.read.cas.byId(known.id)) ?? known;
    const issuer = issuerOf(ca);
    const { notBefore, notAfter } = this.#validity(ca);
    let made: ResponderRecord | undefined;
    await this.#deps.signCertificate({
      ca,
      spki: handle.spki,
      notBefore,
      notAfter,
      extensions: [
        keyUsage(["digitalSignature"]),
        extendedKeyUsage(["OCSPSigning"]),
        subjectKeyIdentifier(subjectKeyId(handle.spki, "rfc7093")),
        authorityKeyIdentifier(issuer.keyId),
        ocspNoCheck(),
      ],
      also: async (tx, { serial, certificate }) => {
        const { label: keyLabel, id: keyId, provider: keyProvider } = handle.ref;
        const key = { keyLabel, keyId, keyProvider };
        made = { caId: ca.id, serial, ...key, certificate, notBefore, notAfter };
        await tx.revocations.putResponder(made);
      },
    });
    if (made === undefined) throw new Error("the ceremony stored no responder certificate");
    return made;
  }

  /** Within the CA's own, which an imported one may have begun this very second (RSP-2). */
  #validity({ notBefore, notAfter }: CaRecord): { notBefore: Instant; notAfter: Instant } {
    const { ocsp, issuance } = this.#deps.config;
    const issuer =
      notBefore === undefined || notAfter === undefined ? undefined : { notBefore, notAfter };
    const request = {
      requestedSeconds: undefined,
      defaultSeconds: ocsp.delegated_validity_hours * 3600,
      profileMaxSeconds: 0,
      policyMaxSeconds: 0,
      issuer,
      backdateSeconds: issuance.backdate_seconds,
      shorten: true,
    };
    return placeValidity(request, this.#deps.clock.now());
  }

  async #prepared(issuer: Issuer, record: ResponderRecord): Promise<OcspSigner> {
    const certificate = parseCertificate(record.certificate);
    const handle = await this.#deps.keys.find(keyRefOf(record));
    if (!Buffer.from(handle.spki).equals(certificate.spki)) throw refuse("key_unavailable");
    return {
      caId: issuer.ca.id,
      issuer,
      role: "responder",
      key: handle.ref,
      handle,
      algorithm: defaultSignature(handle.keyType),
      name: certificate.subject.der,
      certificates: [record.certificate],
      serial: record.serial,
      notBefore: record.notBefore,
      // The CA's certificate may have been replaced by one that ends before the responder's.
      notAfter: instant(Math.min(record.notAfter, issuer.ca.notAfter ?? record.notAfter)),
    };
  }

  async #caItself(issuer: Issuer): Promise<OcspSigner> {
    const { ca } = issuer;
    const handle = await this.#deps.keys.find(ca.key);
    if (!Buffer.from(handle.spki).equals(ca.spki)) throw refuse("key_unavailable");
    return {
      caId: ca.id,
      issuer,
      role: "ca",
      key: ca.key,
      handle,
      algorithm: defaultSignature(ca.keyType),
      name: issuer.subject.der,
      certificates: [],
      serial: undefined,
      notAfter: ca.notAfter ?? instant(0),
    };
  }
}

/**
 * PQ-3: the responder of a post-quantum CA has an ML-DSA key as strong as the CA's, software-held
 * too (KEY-3).
 */
function responderKey(caKeyType: KeyType, { ocsp, key_provider }: ResponderDeps["config"]) {
  if (!isPostQuantum(caKeyType)) {
    return { provider: key_provider.roles.responder, keyType: ocsp.delegated_key_type };
  }
  return { provider: "software" as const, keyType: mlDsaLike(caKeyType) };
}

const keyRefOf = ({ keyProvider, keyLabel, keyId }: ResponderRecord): KeyRef => ({
  provider: keyProvider,
  label: keyLabel,
  id: keyId,
});

const nameOf = ({ caId, serial }: Pick<Voucher, "caId" | "serial">): string =>
  `${caId}/${serial ?? ""}`;
/** More responders than any instance asks after at a time. */
const checkedMax = 1024;
/** RSP-2: anonymous questions make pkid try again once a minute at most. */
const restSeconds = 60;
const later = () => refuse("key_unavailable", { retry_after: restSeconds });
