/** Publishes CRLs: number reserved and intent recorded before the key is used, published with its event after. */

import { sha256Hex } from "#core/crypto.ts";
import { effectiveRoles } from "#core/access/principal.ts";
import type { CaId, Serial } from "#core/ids.ts";
import { Problem, refuse } from "#core/problems.ts";
import { addSeconds, type Instant, instant, wholeSecond } from "#core/time.ts";
import { defaultSignature } from "#core/x509/algorithms.ts";
import {
  altSignatureAlgorithm,
  altSignatureValue,
  preTbsCertList,
} from "#core/x509/alternative.ts";
import { assembleSigned } from "#core/x509/certificate.ts";
import { encodeCrlEntry, encodeTbsCertList, type TbsCertList } from "#core/x509/crl.ts";
import { authorityKeyIdentifier, crlNumber } from "#core/x509/extensions.ts";
import type { Origin } from "#domain/access/call.ts";
import { closeTicket, openTicket, type SigningIntent } from "#domain/audit/sign-ledger.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { HeldKey, Keys } from "#domain/keys.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { type Issuer, issuerOf } from "./issuers.ts";
import { systemOrigin } from "./system-origin.ts";
import type { CrlHead, CrlRecord, RevocationReads, RevocationRecord } from "./store.ts";

export interface CrlSettings {
  /** `issuance.backdate_seconds`. */
  readonly backdateSeconds: number;
  readonly baseValidityHours: number;
}

export interface CrlDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: CrlSettings;
}

/** The scope that lists everything; partitions have scopes of their own. */
export const fullScope = "full";

/** Builds, signs and serves CRLs, one build per CA key and scope at a time. */
export class CrlPublisher {
  readonly #deps: CrlDeps;
  readonly #builds = new Map<string, Builds>();
  readonly #served = new Map<string, CrlRecord>();
  /** Until when nobody's download makes pkid try again: anyone may ask, and every try writes to the ledger. */
  readonly #restingUntil = new Map<string, Instant>();

  constructor(deps: CrlDeps) {
    this.#deps = deps;
  }

  /**
   * The published CRL to serve; an absent or expired one is built first (CRL-5).
   * Refuses `crl_unavailable` when it cannot be signed, `not_found` while the CA has no certificate.
   */
  async current(ca: CaRecord, scope = fullScope): Promise<CrlRecord> {
    const { store, clock } = this.#deps;
    const head = await store.read.revocations.crlHead(ca.id, scope);
    if (head === undefined || head.nextUpdate <= clock.now())
      return await this.#onDemand(ca, scope);
    const key = `${ca.id}/${scope}`;
    const served = this.#served.get(key);
    if (served?.number === head.number) return served;
    const latest = await store.read.revocations.latestCrl(ca.id, scope);
    if (latest === undefined) return await this.#onDemand(ca, scope);
    this.#remember(key, latest);
    return latest;
  }

  /**
   * Signs a CRL that covers every change committed before the call. A build under way may have read too early, so the
   * call waits for it and starts, or joins, one more. Refuses `key_unavailable`, `overloaded`, `storage_unavailable`.
   */
  async publish(ca: CaRecord, by: Origin, scope = fullScope): Promise<CrlRecord> {
    const key = `${ca.id}/${scope}`;
    const builds = this.#builds.get(key);
    if (builds === undefined) {
      const running = this.#build(ca, by, scope);
      this.#builds.set(key, { running, next: undefined });
      return await this.#settled(key, running);
    }
    builds.next ??= builds.running.then(
      () => this.#restart(key, ca, by, scope),
      () => this.#restart(key, ca, by, scope), // The next caller learns for itself what is wrong.
    );
    return await builds.next;
  }

  /** True when half of the CRL's life is over, or there is none (CRL-3). */
  renewable(head: CrlHead | undefined): boolean {
    if (head === undefined) return true;
    return this.#deps.clock.now() >= (head.thisUpdate + head.nextUpdate) / 2;
  }

  async #onDemand(ca: CaRecord, scope: string): Promise<CrlRecord> {
    if (ca.certificate === undefined) throw refuse("not_found");
    const key = `${ca.id}/${scope}`;
    const now = this.#deps.clock.now();
    if (now < (this.#restingUntil.get(key) ?? now)) throw unavailable();
    try {
      return await this.publish(ca, systemOrigin("crl"), scope);
    } catch (error) {
      this.#restingUntil.set(key, addSeconds(now, restSeconds));
      if (error instanceof Problem) throw unavailable();
      throw error;
    }
  }

  async #restart(key: string, ca: CaRecord, by: Origin, scope: string): Promise<CrlRecord> {
    const running = this.#build(ca, by, scope);
    this.#builds.set(key, { running, next: undefined });
    return await this.#settled(key, running);
  }

  async #settled(key: string, running: Promise<CrlRecord>): Promise<CrlRecord> {
    try {
      return await running;
    } finally {
      const builds = this.#builds.get(key);
      if (builds?.running === running && builds.next === undefined) this.#builds.delete(key);
    }
  }

  #remember(key: string, crl: CrlRecord): void {
    this.#served.delete(key);
    this.#served.set(key, crl);
    const oldest = this.#served.keys().next().value;
    if (this.#served.size > servedMax && oldest !== undefined) this.#served.delete(oldest);
  }

  async #build(ca: CaRecord, by: Origin, scope: string): Promise<CrlRecord> {
    const { store, keys, clock } = this.#deps;
    const now = clock.now();
    const issuer = issuerOf(ca);
    // An expired CA signs nothing, a retired one only until then (CRL-14).
    if (ca.notAfter === undefined || now > ca.notAfter) throw refuse("crl_unavailable");
    const held = await keys.find(ca.key);
    const alternative = ca.alternative && (await keys.find(ca.alternative.key));

    // 1 read: the sequence goes first, so that the CRL never claims to cover a change it has not seen.
    const rows = store.read.revocations;
    const listed = await listedEntries(rows, ca.id, scope);

    // 2 intend: number, octets and ledger entry in one durable unit, before the key is used (CRL-1, KEY-5).
    const planned = await store.atomically(async (tx) => {
      const wanted = wholeSecond(addSeconds(now, -this.#deps.settings.backdateSeconds));
      const reserved = await tx.revocations.reserveCrl(ca.id, scope, wanted);
      const draft = this.#draft(issuer, scope, listed, reserved, now);
      const intent = this.#intentOf(alternative ?? held, draft, {
        ...{ key: alternative?.ref ?? ca.key, spki: ca.alternative?.spki ?? ca.spki },
        message: alternative === undefined ? draft.tbs : preTbsCertList(draft.tbs),
      });
      return { draft, intent, ticket: await openTicket(tx, intent, now) };
    });

    // 3 sign, outside any unit; of a hybrid CA the alternative key first (PQ-6).
    const native =
      alternative === undefined ? planned : await this.#signAlternative(ca, held, planned);
    const signature = await this.#signed(native);

    // 4 publish: ledger closed, CRL and event together.
    const { tbs, head } = native.draft;
    const der = assembleSigned(tbs, native.intent.algorithm, signature);
    const crl: CrlRecord = { ...head, der, sha256: sha256Hex(der) };
    const published = clock.now();
    await store.atomically(async (tx) => {
      await closeTicket(tx, native.intent, { signature }, published);
      await tx.revocations.publishCrl(crl);
      await tx.audit.appendEvent(publishEvent(ca, by, crl), published);
    });
    return crl;
  }

  #draft(
    issuer: Issuer,
    scope: string,
    listed: Listed,
    reserved: { readonly number: number; readonly thisUpdate: Instant },
    now: Instant,
  ) {
    const { number, thisUpdate } = reserved;
    // After a clock step back thisUpdate runs ahead of the clock; the CRL still lives as long as configured.
    const start = instant(Math.max(wholeSecond(now), thisUpdate));
    const nextUpdate = addSeconds(start, this.#deps.settings.baseValidityHours * 3600);
    const { alternative } = issuer.ca;
    const second = alternative && altSignatureAlgorithm(defaultSignature(alternative.keyType));
    const extensions = [authorityKeyIdentifier(issuer.keyId), crlNumber(number)];
    const fields = {
      signature: defaultSignature(issuer.ca.keyType),
      issuer: issuer.subject.der,
      ...{ thisUpdate, nextUpdate, entries: listed.entries },
      extensions: second === undefined ? extensions : [...extensions, second],
    };
    const tbs = encodeTbsCertList(fields);
    const entries = listed.entries.length;
    const { sequence } = listed;
    const head = { caId: issuer.ca.id, scope, number, thisUpdate, nextUpdate, sequence, entries };
    return { fields, tbs, head };
  }

  #intentOf(
    held: HeldKey,
    { head }: Draft,
    signed: Pick<SigningIntent, "key" | "spki" | "message">,
  ): SigningIntent {
    return {
      ...{ ...signed, opId: this.#deps.random.uuid(), role: "ca", purpose: "crl" },
      ...{ deviceSerial: held.deviceSerial, algorithm: defaultSignature(held.keyType) },
      ...{ caId: head.caId, artifact: `${head.scope}#${head.number}` },
    };
  }

  /** Makes the alternative signature, closes its entry and promises the native one over the complete octets. */
  async #signAlternative(ca: CaRecord, held: HeldKey, planned: Planned): Promise<Planned> {
    const { store, clock } = this.#deps;
    const signature = await this.#signed(planned);
    const { fields, head } = planned.draft;
    const extensions = [...fields.extensions, altSignatureValue(signature)];
    const tbs = encodeTbsCertList({ ...fields, extensions });
    const draft = { fields, tbs, head };
    const intent = this.#intentOf(held, draft, { key: ca.key, spki: ca.spki, message: tbs });
    const at = clock.now();
    const ticket = await store.atomically(async (tx) => {
      await closeTicket(tx, planned.intent, { signature }, at);
      return await openTicket(tx, intent, at);
    });
    return { draft, intent, ticket };
  }

  /** The key port verifies what it gives (KEY-4); what it refuses is closed in the ledger as an error. */
  async #signed({ intent, ticket }: Planned): Promise<Uint8Array> {
    try {
      return await this.#deps.keys.sign(ticket, intent.message);
    } catch (error) {
      const word = error instanceof Problem ? error.code : "internal";
      const at = this.#deps.clock.now();
      await this.#deps.store.atomically((tx) => closeTicket(tx, intent, { error: word }, at));
      throw error;
    }
  }
}

interface Builds {
  readonly running: Promise<CrlRecord>;
  next: Promise<CrlRecord> | undefined;
}

interface Draft {
  readonly fields: TbsCertList;
  readonly tbs: Uint8Array;
  readonly head: Omit<CrlRecord, "der" | "sha256">;
}

/** The operation that is next, its intent durable. */
interface Planned {
  readonly draft: Draft;
  readonly intent: SigningIntent;
  readonly ticket: Parameters<Keys["sign"]>[0];
}

/** Encoded entries, and the revocation sequence up to which they are complete. */
interface Listed {
  readonly entries: readonly Uint8Array[];
  readonly sequence: number;
}

async function listedEntries(rows: RevocationReads, ca: CaId, scope: string): Promise<Listed> {
  const sequence = await rows.sequence();
  const previous = await rows.crlHead(ca, scope);
  // A row that changes while the pages are read comes again further on; its last form counts.
  const bySerial = new Map<Serial, Uint8Array>();
  for (let after = 0; ; ) {
    const page = await rows.entries(ca, pageSize, after);
    for (const row of page) {
      after = row.sequence;
      if (!departed(row, previous)) bySerial.set(row.serial, encodeCrlEntry(row));
    }
    if (page.length < pageSize) return { entries: [...bySerial.values()], sequence };
  }
}

/**
 * True when the entry has done its time: a CRL issued after its certificate's expiry has listed it (CRL-7). The
 * previous CRL is such a one when it is later than the expiry and covers the entry's sequence: either it listed the
 * entry, or one before it did. Bare entries have no expiry and stay.
 */
function departed(row: RevocationRecord, previous: CrlHead | undefined): boolean {
  if (row.expiresAt === undefined || previous === undefined) return false;
  return previous.thisUpdate > row.expiresAt && previous.sequence >= row.sequence;
}

function publishEvent(ca: CaRecord, by: Origin, crl: CrlRecord) {
  const { principal, ip, requestId } = by;
  return {
    ...{ action: "crl.publish" as const, result: "success" as const },
    ...{ actor: principal.subject, actorName: principal.name },
    ...{ actorRoles: effectiveRoles(principal, ca.tenant), tenant: ca.tenant, caId: ca.id },
    ...{ target: ca.id, targetName: crl.scope, ip, requestId },
    detail: { number: crl.number, kind: "base", entries: crl.entries },
  };
}

const unavailable = () => refuse("crl_unavailable", { retry_after: restSeconds });

const restSeconds = 5;
const pageSize = 1000;
const servedMax = 64;
