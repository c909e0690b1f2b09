/**
 * Publishes and serves CRLs: one build per CA key, scope and kind at a time, the published one
 * served meanwhile.
 */

import type { CaId } from "#core/ids.ts";
import { Problem, refuse } from "#core/problems.ts";
import { addSeconds, type Instant } from "#core/time.ts";
import { joined, segmentOctets } from "#core/x509/crl-segments.ts";
import type { Origin } from "#domain/actor.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { CrlBuilder, type CrlBuildDeps } from "./crl-build.ts";
import { isFromTheFuture } from "./crl-time.ts";
import { fullScope } from "./scopes.ts";
import type { CrlHead, CrlKind } from "./store.ts";
import { systemOrigin } from "./system-origin.ts";

/** Base and delta of one scope, signed together. */
export interface PublishedScope {
  readonly scope: string;
  readonly base: CrlHead;
  readonly delta: CrlHead;
}

/** Numbers of the newest lists of a scope; 0 for a list that does not exist. */
export interface CrlNumbers {
  readonly base: number;
  readonly delta: number;
}

/** Permission to use a list that another replica has published instead of signing one. */
interface SharedBuild {
  /** Number of the newest list that the caller knows; undefined for that of this moment. */
  readonly seen: number | undefined;
}

/** Builds, signs and serves the CRLs of every CA. */
export class CrlPublisher {
  readonly #deps: CrlBuildDeps;
  readonly #builder: CrlBuilder;
  readonly #builds = new Map<string, Builds>();
  /**
   * Octets of small lists, by name; the one kept longest goes first, as newer lists have taken its
   * place.
   */
  readonly #kept = new Map<string, Uint8Array>();
  #keptOctets = 0;
  /**
   * Until when nobody's download makes pkid try again: anyone may ask, and every try writes to the
   * ledger.
   */
  readonly #restingUntil = new Map<string, Instant>();

  constructor(deps: CrlBuildDeps) {
    this.#deps = deps;
    this.#builder = new CrlBuilder(deps);
  }

  /**
   * The published CRL to serve; an absent or expired one is built first, a delta on a base that is
   * not (CRL-5). Refuses `crl_unavailable` when it cannot be signed, `not_found` while the CA has
   * no certificate.
   */
  async current(ca: CaRecord, scope = fullScope, kind: CrlKind = "base"): Promise<CrlHead> {
    const served = await this.published(ca.id, scope, kind);
    return served ?? (await this.#onDemand(ca, scope, kind));
  }

  /** The newest base of a scope, expired or not, and the delta on it, if there is one. */
  async newest(
    ca: CaId,
    scope: string,
  ): Promise<{ readonly base: CrlHead | undefined; readonly delta: CrlHead | undefined }> {
    const { revocations } = this.#deps.store.read;
    const base = await revocations.crlHead(ca, scope, "base");
    const delta = await revocations.crlHead(ca, scope, "delta");
    return { base, delta: delta?.base === base?.number ? delta : undefined };
  }

  /**
   * The published CRL, unless it is expired, or begins in a future that the clock has come back
   * from (CRL-2); a delta only while its base is the newest and served itself.
   */
  async published(ca: CaId, scope: string, kind: CrlKind): Promise<CrlHead | undefined> {
    if (kind === "base") {
      return this.#servable(await this.#deps.store.read.revocations.crlHead(ca, scope, kind));
    }
    const { base, delta } = await this.newest(ca, scope);
    return this.#servable(base) && this.#servable(delta);
  }

  /**
   * The DER of a published CRL in the pieces it is stored in, from one on; each but the last has
   * `segmentOctets`. Refuses `crl_unavailable` when it was pruned meanwhile.
   */
  async *pieces(crl: CrlHead, from = 0): AsyncGenerator<Uint8Array> {
    const name = `${crl.caId}/${crl.scope}/${crl.number}`;
    const kept = this.#kept.get(name);
    if (kept !== undefined) {
      yield kept;
      return;
    }
    const { revocations } = this.#deps.store.read;
    let octets = from * segmentOctets;
    for (let position = from; octets < crl.size; position++) {
      const piece = await revocations.crlPiece(crl, position);
      if (piece === undefined) throw refuse("crl_unavailable", { retry_after: restSeconds });
      if (piece.length === crl.size) this.#keep(name, piece);
      octets += piece.length;
      yield piece;
    }
  }

  /** The DER in one piece, for who cannot do with less. */
  async der(crl: CrlHead): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.pieces(crl)) pieces.push(piece);
    return joined(pieces);
  }

  /** Signs base and delta of every scope of the CA now. Refuses as `publishBase`. */
  async publishAll(ca: CaRecord, by: Origin): Promise<readonly PublishedScope[]> {
    const published: PublishedScope[] = [];
    for (const scope of await this.#deps.scopes.all(ca.id)) {
      published.push(await this.publish(ca, by, scope));
    }
    return published;
  }

  /**
   * Signs base and delta of every scope whose base does not list its latest change: what a run of
   * many changes ends with.
   */
  async publishStale(ca: CaRecord, by: Origin): Promise<readonly PublishedScope[]> {
    const { scopes, store } = this.#deps;
    const published: PublishedScope[] = [];
    for (const [scope, latest] of await scopes.touched(ca.id, await scopes.covered(ca.id))) {
      const base = await store.read.revocations.crlHead(ca.id, scope, "base");
      if ((base?.sequence ?? 0) < latest) published.push(await this.publish(ca, by, scope));
    }
    return published;
  }

  /** Signs the base of a scope and a new delta that begins with it. */
  async publish(ca: CaRecord, by: Origin, scope = fullScope): Promise<PublishedScope> {
    const base = await this.publishBase(ca, by, scope);
    return { scope, base, delta: await this.publishDelta(ca, by, scope) };
  }

  /**
   * Signs a base that covers every change committed before the call. A build under way may have
   * read too early, so the call waits for it and starts, or joins, one more. Refuses
   * `key_unavailable`, `overloaded`, `storage_unavailable`.
   */
  async publishBase(ca: CaRecord, by: Origin, scope = fullScope): Promise<CrlHead> {
    return await this.#next(`${ca.id}/${scope}/base`, () => this.#buildBase(ca, by, scope));
  }

  /** Signs a delta likewise; without an unexpired base it makes one first (CRL-5). */
  async publishDelta(ca: CaRecord, by: Origin, scope = fullScope): Promise<CrlHead> {
    const published = await this.published(ca.id, scope, "base");
    if (published === undefined) await this.publishBase(ca, by, scope);
    return await this.#next(`${ca.id}/${scope}/delta`, () => this.#buildDelta(ca, by, scope));
  }

  /**
   * Signs a due list, unless another replica has published a newer one than the caller has seen
   * that covers every change committed before the call. A base is followed by its delta.
   *
   * @param seen numbers of the lists on which the decision was based; without it, the current ones
   */
  async renew(ca: CaRecord, scope: string, kind: CrlKind, seen?: CrlNumbers): Promise<void> {
    const head = await this.#deps.store.read.revocations.crlHead(ca.id, scope, "delta");
    const delta = seen?.delta ?? head?.number ?? 0;
    if (kind === "base") await this.#shared(ca, scope, "base", seen?.base);
    await this.#shared(ca, scope, "delta", delta);
  }

  async #shared(ca: CaRecord, scope: string, kind: CrlKind, seen?: number): Promise<CrlHead> {
    const by = systemOrigin("crl");
    const key = `${ca.id}/${scope}`;
    if (kind === "base") {
      return await this.#next(`${key}/base`, () => this.#buildBase(ca, by, scope, { seen }));
    }
    const base = await this.published(ca.id, scope, "base");
    if (base === undefined) await this.#shared(ca, scope, "base");
    return await this.#next(`${key}/delta`, () => this.#buildDelta(ca, by, scope, { seen }));
  }

  /** True when half of the CRL's life is over, or there is none that may be served (CRL-3). */
  renewable(head: CrlHead | undefined): boolean {
    if (head === undefined || this.#untimely(head)) return true;
    return this.#deps.clock.now() >= (head.thisUpdate + head.nextUpdate) / 2;
  }

  async #buildBase(
    ca: CaRecord,
    by: Origin,
    scope: string,
    sharing?: SharedBuild,
  ): Promise<CrlHead> {
    return await this.#leased(ca.id, scope, "base", sharing, async (before) => {
      const crl = await this.#builder.build({ ca, by, scope, base: undefined });
      if (before !== undefined) await this.#prune(before);
      return crl;
    });
  }

  async #buildDelta(
    ca: CaRecord,
    by: Origin,
    scope: string,
    sharing?: SharedBuild,
  ): Promise<CrlHead> {
    return await this.#leased(ca.id, scope, "delta", sharing, async () => {
      const base = await this.#deps.store.read.revocations.crlHead(ca.id, scope, "base");
      if (base === undefined) throw unavailable();
      return await this.#builder.build({ ca, by, scope, base });
    });
  }

  /** One build of a list at a time across replicas (CRL-13). */
  async #leased(
    ca: CaId,
    scope: string,
    kind: CrlKind,
    sharing: SharedBuild | undefined,
    build: (before: CrlHead | undefined) => Promise<CrlHead>,
  ): Promise<CrlHead> {
    const { store } = this.#deps;
    const { revocations } = store.read;
    const before = sharing?.seen ?? (await revocations.crlHead(ca, scope, kind))?.number ?? 0;
    const sequence = await revocations.sequence();
    return await store.exclusively(`${ca}/${scope}/${kind}`, async () => {
      const now = await revocations.crlHead(ca, scope, kind);
      const anew = now !== undefined && now.number > before;
      if (sharing === undefined || !anew || now.sequence < sequence) return await build(now);
      const base = kind === "base" ? now : await revocations.crlHead(ca, scope, "base");
      return kind === "base" || now.base === base?.number ? now : await build(now);
    });
  }

  #servable(head: CrlHead | undefined): CrlHead | undefined {
    if (head === undefined || head.nextUpdate <= this.#deps.clock.now()) return undefined;
    return this.#untimely(head) ? undefined : head;
  }

  /** While the clock itself is in doubt nobody can say which of both is wrong. */
  #untimely(head: CrlHead): boolean {
    const { clock, clockBelieved } = this.#deps;
    return isFromTheFuture(head, clock.now()) && clockBelieved();
  }

  async #onDemand(ca: CaRecord, scope: string, kind: CrlKind): Promise<CrlHead> {
    if (ca.certificate === undefined) throw refuse("not_found");
    const key = `${ca.id}/${scope}/${kind}`;
    const now = this.#deps.clock.now();
    const rest = (this.#restingUntil.get(key) ?? now) - now;
    // A clock that was set back meanwhile prolongs no rest.
    if (rest > 0 && rest <= restSeconds * 1000) throw unavailable();
    // Who asks while one is built is given that one: none was published, so it is as new as any.
    const current = this.#builds.get(key)?.current;
    try {
      if (current !== undefined) return await current;
      return await this.#shared(ca, scope, kind);
    } catch (error) {
      this.#restingUntil.set(key, addSeconds(now, restSeconds));
      if (error instanceof Problem) throw unavailable();
      throw error;
    }
  }

  async #next(key: string, build: () => Promise<CrlHead>): Promise<CrlHead> {
    const builds = this.#builds.get(key);
    if (builds === undefined) return await this.#start(key, build);
    // The next caller learns for itself what is wrong with the one that runs.
    builds.next ??= builds.current.then(
      () => this.#start(key, build),
      () => this.#start(key, build),
    );
    return await builds.next;
  }

  async #start(key: string, build: () => Promise<CrlHead>): Promise<CrlHead> {
    const current = build();
    this.#builds.set(key, { current, next: undefined });
    try {
      return await current;
    } finally {
      const builds = this.#builds.get(key);
      if (builds?.current === current && builds.next === undefined) this.#builds.delete(key);
    }
  }

  /**
   * Forgets lists older than the base before the newest, in short units; who still reads that one
   * may finish.
   */
  async #prune({ caId, scope, number }: CrlHead): Promise<void> {
    for (let gone = piecesPerUnit; gone === piecesPerUnit; ) {
      gone = await this.#deps.store.atomically((tx) =>
        tx.revocations.pruneCrls(caId, scope, number, piecesPerUnit),
      );
    }
  }

  #keep(name: string, octets: Uint8Array): void {
    // Whoever read it at the same time has kept it already.
    if (this.#kept.has(name)) return;
    this.#kept.set(name, octets);
    this.#keptOctets += octets.length;
    for (const [oldest, gone] of this.#kept) {
      if (this.#keptOctets <= keptOctetsMax) break;
      this.#kept.delete(oldest);
      this.#keptOctets -= gone.length;
    }
  }
}

interface Builds {
  readonly current: Promise<CrlHead>;
  next: Promise<CrlHead> | undefined;
}

const unavailable = () => refuse("crl_unavailable", { retry_after: restSeconds });

const restSeconds = 5;
const piecesPerUnit = 4;
const keptOctetsMax = 32 * 1024 * 1024;
