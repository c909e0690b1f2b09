/**
 * Builds one CRL: number reserved, entries read, intent recorded before the key is used, published
 * with its event after.
 */

import { sha256HexOf } from "#core/crypto.ts";
import { effectiveRoles } from "#core/access/principal.ts";
import { refuse } from "#core/problems.ts";
import { addSeconds, type Instant, instant, timestamp, wholeSecond } from "#core/time.ts";
import { defaultSignature } from "#core/x509/algorithms.ts";
import {
  altSignatureAlgorithm,
  altSignatureValue,
  preTbsCertList,
} from "#core/x509/alternative.ts";
import type { TbsCertList } from "#core/x509/crl.ts";
import {
  deltaCrlIndicator,
  expiredCertsOnCrl,
  freshestCrl,
  issuingDistributionPoint,
} from "#core/x509/crl-extensions.ts";
import {
  type CrlEntries,
  joined,
  lengthOf,
  piecesOf,
  type Segments,
  signedSegments,
  tbsCertListSegments,
} from "#core/x509/crl-segments.ts";
import { authorityKeyIdentifier, crlNumber, type Extension } from "#core/x509/extensions.ts";
import type { Origin } from "#domain/actor.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { KeyHandle, Keys } from "#domain/keys.ts";
import type { Clock } from "#domain/ports.ts";
import type { Signed, Signing, ToBeSigned } from "#domain/signing/signing.ts";
import type { Store } from "#domain/store.ts";
import { baseEntries, deltaEntries } from "./crl-entries.ts";
import { publishedAfter } from "./crl-time.ts";
import { issuerOf } from "./issuers.ts";
import { indexPartitions } from "./partition-index.ts";
import type { CrlScopes } from "./scopes.ts";
import type { RevocationSections } from "./sections.ts";
import type { CrlHead, ReservedCrl } from "./store.ts";

export interface CrlBuildDeps {
  readonly store: Store;
  readonly keys: Pick<Keys, "find">;
  readonly signing: Signing;
  readonly clock: Clock;
  readonly scopes: CrlScopes;
  readonly config: Pick<RevocationSections, "crl" | "issuance">;
  /**
   * True while nobody has confirmed a clock that leapt ahead: it would call valid certificates
   * expired (PRC-4).
   */
  readonly clockAhead: () => boolean;
  /** True while nothing speaks against the clock, or what did has been set right (CRL-2). */
  readonly clockBelieved: () => boolean;
}

/** One list wanted. */
export interface CrlOrder {
  readonly ca: CaRecord;
  readonly by: Origin;
  readonly scope: string;
  /** The published base a delta completes; undefined for a base. */
  readonly base: CrlHead | undefined;
}

/** The ceremony of CRLs. */
export class CrlBuilder {
  readonly #deps: CrlBuildDeps;

  constructor(deps: CrlBuildDeps) {
    this.#deps = deps;
  }

  /**
   * Signs and publishes one CRL that covers every change committed before the call. Refuses
   * `crl_unavailable` for an expired CA, `not_found` while it has no certificate, and what keys and
   * store refuse.
   */
  async build(order: CrlOrder): Promise<CrlHead> {
    const { ca } = order;
    const { keys, clock, signing } = this.#deps;
    // An expired CA signs nothing, a retired one only until then (CRL-14).
    if (ca.notAfter === undefined || clock.now() > ca.notAfter) throw refuse("crl_unavailable");
    const native = await pinned(keys, ca);
    const alternative = ca.alternative && (await pinned(keys, ca.alternative));

    // 1. Read, with the number reserved for what is seen (CRL-1).
    let draft = await this.#draft(order);

    // 2. Intend: digest and ledger entry durable before the key is used (KEY-5); of a hybrid CA
    //    first over the list without the alternative signature (PQ-6).
    const [key, message] =
      alternative === undefined
        ? [native, draft.tbs]
        : [alternative, [preTbsCertList(joined(draft.tbs))]];
    let intended = await signing.intend(toBeSigned(order, draft, message, key));

    // 3. The alternative signature goes into the list; one unit closes its entry and intends the
    //    complete octets.
    if (alternative !== undefined) {
      const signed = await intended.sign();
      draft = await signed.prepare(() => withAlternativeSignature(draft, signed.signature));
      intended = await signed.closeAndIntend(toBeSigned(order, draft, draft.tbs, native));
    }

    // 4. Sign, outside any unit.
    const signed = await intended.sign();

    // 5. Publish: ledger closed, list and event together.
    return await this.#publish(order, draft, signed);
  }

  async #draft(order: CrlOrder): Promise<Draft> {
    const { store, scopes } = this.#deps;
    const { ca, scope } = order;
    const partition = order.base ? partitionOf(order.base, scopes) : scopes.partition(scope);
    if (partition !== undefined && order.base === undefined) {
      await indexPartitions({ store, scopes }, ca.id, partition.modulus);
    }
    const wanted = { ca: ca.id, partition, everUsed: await scopes.everUsed() };
    const prior = order.base === undefined ? await this.#prior(order) : undefined;
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      // Nothing in here reads outside the view: on PostgreSQL that waits for a connection while it
      // holds one.
      const seen = await store.read.revocations.view(async (view) => {
        const reserved = await this.#reserve(order, view.sequence);
        if (reserved === undefined) return undefined;
        const entries = order.base
          ? await deltaEntries(view, wanted, order.base)
          : await baseEntries(view, wanted, prior);
        return { reserved, read: { entries, sequence: view.sequence, prior } };
      });
      if (seen !== undefined) return await this.#encoded(order, seen.reserved, seen.read);
    }
    throw new Error("numbers are given out for later sequences than a view ever shows");
  }

  /**
   * The base before this one, unless it was made under another `crl.shards`, or nothing leaves: by
   * a clock that leapt ahead, or by a base from such a time, certificates would leave the list that
   * have not expired.
   */
  async #prior({ ca, scope }: CrlOrder): Promise<CrlHead["prior"]> {
    const { config, clock, clockAhead } = this.#deps;
    if (config.crl.keep_expired || clockAhead()) return undefined;
    const head = await this.#deps.store.read.revocations.crlHead(ca.id, scope, "base");
    if (head !== undefined && head.thisUpdate > clock.now()) return undefined;
    const modulus = this.#deps.scopes.partition(scope)?.modulus ?? 0;
    return head?.modulus === modulus ? head : undefined;
  }

  async #reserve({ ca, scope, by }: CrlOrder, sequence: number): Promise<Reserved | undefined> {
    const { store, clock, config, clockBelieved } = this.#deps;
    const now = clock.now();
    const wanted = wholeSecond(addSeconds(now, -config.issuance.backdate_seconds));
    const moment = { at: now, wanted, believed: clockBelieved() };
    const reserved = await store.atomically(async (tx) => {
      const next = await tx.revocations.reserveCrl(ca.id, scope, moment, sequence);
      if (next?.resetFrom !== undefined) {
        await tx.audit.appendEvent(resetEvent(ca, by, scope, next), now);
      }
      return next && { ...next, now };
    });
    if (reserved !== undefined) await store.recordCrlNumber(ca.id, scope, reserved.number);
    return reserved;
  }

  async #encoded(order: CrlOrder, reserved: Reserved, read: Read): Promise<Draft> {
    const { ca, scope, base } = order;
    const { config, scopes } = this.#deps;
    const { number, thisUpdate, now } = reserved;
    // After a clock step back thisUpdate runs ahead of the clock; the CRL still lives as long as
    // configured.
    const start = instant(Math.max(wholeSecond(now), thisUpdate));
    const { base_validity_hours, delta_interval_minutes } = config.crl;
    const seconds = base === undefined ? base_validity_hours * 3600 : delta_interval_minutes * 60;
    const nextUpdate = addSeconds(start, seconds);
    const urls = base?.urls ?? (await scopes.urls(ca.id, scope));
    const issuer = issuerOf(ca);
    const fields = {
      signature: defaultSignature(ca.keyType),
      issuer: issuer.subject.der,
      thisUpdate,
      nextUpdate,
      extensions: this.#extensions(order, issuer.keyId, number, urls),
    };
    const tbs = tbsCertListSegments(fields, read.entries);
    const modulus = base?.modulus ?? scopes.partition(scope)?.modulus ?? 0;
    const head = {
      caId: ca.id,
      scope,
      number,
      base: base?.number,
      thisUpdate,
      nextUpdate,
      sequence: read.sequence,
      entries: read.entries.count,
      modulus,
      urls,
      prior: read.prior && pick(read.prior),
    };
    return { fields, entries: read.entries, tbs, head, madeAt: reserved.madeAt };
  }

  /** RFC 5280 §5.2; a delta repeats the scope of its base (§5.2.4). */
  #extensions(
    { ca, scope, base }: CrlOrder,
    keyId: Uint8Array,
    number: number,
    urls: readonly string[],
  ): readonly Extension[] {
    const { scopes, config } = this.#deps;
    const url = scopes.url(ca.id, scope);
    const keeps = base === undefined && config.crl.keep_expired && ca.notBefore !== undefined;
    const second =
      ca.alternative && altSignatureAlgorithm(defaultSignature(ca.alternative.keyType));
    return [
      authorityKeyIdentifier(keyId),
      crlNumber(number),
      ...(base === undefined ? [] : [deltaCrlIndicator(base.number)]),
      ...(urls.length === 0 ? [] : [issuingDistributionPoint(urls)]),
      ...(base === undefined && url !== undefined ? [freshestCrl(`${url}/delta`)] : []),
      // Nothing of this CA ever left its lists: none of its certificates is older than itself.
      ...(keeps && ca.notBefore !== undefined ? [expiredCertsOnCrl(ca.notBefore)] : []),
      ...(second === undefined ? [] : [second]),
    ];
  }

  async #publish({ ca, by }: CrlOrder, draft: Draft, signed: Signed): Promise<CrlHead> {
    const { signature } = signed;
    const { crl, last } = await signed.prepare(async () => {
      const der = signedSegments(draft.tbs, draft.fields.signature, signature);
      const facts = { size: lengthOf(der), sha256: await sha256HexOf(der) };
      const stored = await this.#storeAhead(draft.head, der);
      const publishedAt = await this.#publishedAt(draft);
      const head: CrlHead = { ...draft.head, ...facts, publishedAt };
      return { crl: head, last: stored };
    });
    await signed.close(async (tx, at) => {
      for (const [position, octets] of last) {
        await tx.revocations.putCrlPiece(crl, position, octets);
      }
      await tx.revocations.publishCrl(crl);
      await tx.audit.appendEvent(publishEvent(ca, by, crl), at);
    });
    return crl;
  }

  async #publishedAt({ head, madeAt }: Draft): Promise<Instant> {
    const { store, clock } = this.#deps;
    const { caId, scope, thisUpdate } = head;
    const kind = head.base === undefined ? "base" : "delta";
    const before = await store.read.revocations.crlHead(caId, scope, kind);
    return publishedAfter(before, { thisUpdate, madeAt }, clock.now());
  }

  /**
   * Nobody sees pieces before their head, so a long list is stored in many short units; gives what
   * is left to store.
   */
  async #storeAhead(
    crl: Draft["head"],
    der: Segments,
  ): Promise<readonly (readonly [number, Uint8Array])[]> {
    let waiting: (readonly [number, Uint8Array])[] = [];
    let position = 0;
    for (const octets of piecesOf(der, piecesPerUnit + 1)) {
      if (waiting.length === piecesPerUnit) {
        const ready = waiting;
        await this.#deps.store.atomically(async (tx) => {
          for (const [at, piece] of ready) await tx.revocations.putCrlPiece(crl, at, piece);
        });
        waiting = [];
      }
      waiting.push([position, octets]);
      position += 1;
    }
    return waiting;
  }
}

interface Reserved extends ReservedCrl {
  readonly now: Instant;
}

interface Read {
  readonly entries: CrlEntries;
  readonly sequence: number;
  readonly prior: CrlHead["prior"];
}

interface Draft {
  readonly fields: Omit<TbsCertList, "entries">;
  readonly entries: CrlEntries;
  readonly tbs: Segments;
  readonly head: Omit<CrlHead, "size" | "sha256" | "publishedAt">;
  readonly madeAt: Instant;
}

/** The key as its provider holds it, by the name and public key that the record pins (KEY-4). */
async function pinned(keys: Pick<Keys, "find">, { key, spki }: Pick<CaRecord, "key" | "spki">) {
  return { ...(await keys.find(key)), ref: key, spki };
}

/** The list, or the part of it that the alternative key signs. */
const toBeSigned = (
  { ca, base }: CrlOrder,
  { head }: Draft,
  message: Segments,
  { ref, spki, deviceSerial, keyType }: KeyHandle,
): ToBeSigned => ({
  key: { ref, spki, deviceSerial },
  role: "ca",
  algorithm: defaultSignature(keyType),
  message,
  purpose: base === undefined ? "crl" : "delta_crl",
  caId: ca.id,
  artifact: `${head.scope}#${head.number}`,
});

function withAlternativeSignature(draft: Draft, signature: Uint8Array): Draft {
  const { fields, entries } = draft;
  const extensions = [...fields.extensions, altSignatureValue(signature)];
  return { ...draft, tbs: tbsCertListSegments({ ...fields, extensions }, entries) };
}

/** What a delta covers is what its base did, whatever `crl.shards` is now. */
function partitionOf({ scope, modulus }: CrlHead, scopes: CrlScopes) {
  const partition = scopes.partition(scope);
  return partition && { ...partition, modulus };
}

const pick = ({ thisUpdate, sequence }: NonNullable<CrlHead["prior"]>) => ({
  thisUpdate,
  sequence,
});

function publishEvent(ca: CaRecord, by: Origin, crl: CrlHead) {
  const kind = crl.base === undefined ? "base" : "delta";
  return {
    ...aboutList(ca, by, crl.scope),
    action: "crl.publish" as const,
    detail: { number: crl.number, kind, entries: crl.entries, sha256: crl.sha256 },
  };
}

/**
 * CRL-2: the lists begin earlier than their predecessor said, because that one was made by a clock
 * that was ahead.
 */
function resetEvent(ca: CaRecord, by: Origin, scope: string, reserved: ReservedCrl) {
  const { number, thisUpdate, resetFrom } = reserved;
  const from = resetFrom && timestamp(resetFrom);
  return {
    ...aboutList(ca, by, scope),
    action: "crl.clock_reset" as const,
    detail: { number, from, to: timestamp(thisUpdate) },
  };
}

function aboutList(ca: CaRecord, { principal, ip, requestId }: Origin, scope: string) {
  return {
    result: "success" as const,
    actor: principal.subject,
    actorName: principal.name,
    actorRoles: effectiveRoles(principal, ca.tenant),
    tenant: ca.tenant,
    caId: ca.id,
    target: ca.id,
    targetName: scope,
    ip,
    requestId,
  };
}

const attemptsMax = 20;
const piecesPerUnit = 2;
