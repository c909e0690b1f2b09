/**
 * Keeps the published CRLs true: deltas within a second of a change, bases after revocations and at
 * half of their life.
 */

import type { CaId } from "#core/ids.ts";
import { addSeconds, type Instant, instant } from "#core/time.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { CrlNumbers, CrlPublisher } from "./crl.ts";
import { soonestAfter } from "./crl-time.ts";
import type { RevocationChange } from "./revoke.ts";
import { type CrlScopes, fullScope, partitionScope, scopesOf } from "./scopes.ts";
import type { RevocationSections } from "./sections.ts";
import type { CrlHead, CrlKind } from "./store.ts";
import { isCaCertificate } from "./transitions.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly scopes: CrlScopes;
  readonly publisher: Pick<CrlPublisher, "renew" | "published" | "renewable" | "newest">;
  readonly config: Pick<RevocationSections, "crl">;
  /** Asks for `deltas` now, and for `bases` too when one is due at once. */
  readonly wake: (kind: CrlKind) => void;
  /** Told why a CRL could not be signed; it is tried again until it can. */
  readonly onFailure: (ca: CaId, error: unknown) => void;
}

/** One list that has to be signed. */
interface Due {
  readonly ca: CaId;
  readonly scope: string;
  readonly kind: CrlKind;
  /** At the latest; the first change after a list sets it (debounce). */
  readonly at: Instant;
  /** The list is as wanted once it covers this number of the revocation sequence. */
  readonly covers: number;
}

/** Decides when which CRL of which CA is signed. */
export class CrlRefresh {
  readonly #deps: Deps;
  readonly #due = new Map<string, Due>();
  /** Committed here and not looked at yet. */
  #changes: RevocationChange[] = [];
  /** The store-wide sequence when foreign changes were last looked for. */
  #seen = -1;
  /** Up to which sequence the changes of a CA are known. */
  readonly #known = new Map<CaId, number>();
  /** The last change of a CA that all its bases were found to have. */
  readonly #complete = new Map<CaId, number>();
  /** From when on the delta of a scope may be signed again. */
  readonly #rested = new Map<string, Instant>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Takes note of a committed change; bases wait, but not for key compromise and CA certificates
   * (CRL-3).
   */
  changed(change: RevocationChange): void {
    this.#changes.push(change);
    this.#deps.wake("delta");
    if (urgent(change) || this.#deps.config.crl.refresh_after_revocation_seconds === 0)
      this.#deps.wake("base");
  }

  /** Signs what is due, deltas first. */
  async afterRevocations(): Promise<void> {
    await this.deltas();
    await this.bases();
  }

  /**
   * Signs the deltas that are due; runs several times a second, beside `bases`, which may take
   * long.
   */
  async deltas(): Promise<void> {
    await this.#sign("delta");
  }

  /** Signs the bases that are due, each with a new delta. */
  async bases(): Promise<void> {
    await this.#sign("base");
  }

  /**
   * Signs every list that is absent or past half of its life, or made under other settings (CRL-10,
   * CRL-11).
   */
  async renewals(): Promise<void> {
    const busy = await this.#deps.store.read.bulkRevocations.active();
    for (const ca of await this.#deps.store.read.cas.signing()) {
      if (!this.#publishes(ca)) continue;
      if (!busy.has(ca.id)) await this.#noteOverlooked(ca.id);
      for (const scope of await this.#kept(ca.id)) await this.#renew(ca, scope);
    }
  }

  /**
   * Holds what is published against what changed last, whatever was noted or forgotten: a list that
   * lacks a change is due. Once all lists of a CA have its last change they are not looked through
   * again before the next.
   */
  async #noteOverlooked(ca: CaId): Promise<void> {
    const { store, scopes, config } = this.#deps;
    const seconds = config.crl.refresh_after_revocation_seconds;
    const last = await store.read.revocations.lastChange(ca);
    if (this.#complete.get(ca) === last) return;
    let complete = true;
    for (const [scope, covers] of await scopes.touched(ca, await scopes.covered(ca))) {
      const { base, delta } = await this.#deps.publisher.newest(ca, scope);
      const listed = base?.sequence ?? 0;
      if (listed >= covers) continue;
      complete = false;
      const now = this.#deps.clock.now();
      if ((delta?.sequence ?? listed) < covers)
        this.#noteMissing({ ca, scope, kind: "delta", covers, at: now });
      this.#noteMissing({ ca, scope, kind: "base", covers, at: addSeconds(now, seconds) });
    }
    if (complete) this.#complete.set(ca, last);
  }

  #noteMissing(due: Due): void {
    if (!this.#due.has(keyOf(due))) this.#note(due);
  }

  async #sign(kind: CrlKind): Promise<void> {
    await this.#noticeChanges();
    await this.#noticeForeignChanges();
    const now = this.#deps.clock.now();
    for (const [key, due] of [...this.#due]) {
      if (due.kind !== kind || this.#waits(due.at, now)) continue;
      // A list that could not be looked at stays due: forgotten is only what is as wanted.
      const ca = await this.#deps.store.read.cas.byId(due.ca);
      if (ca === undefined || !this.#publishes(ca) || (await this.#covered(due))) {
        this.#settle(key, due);
        continue;
      }
      if (await this.#hurried(due, now)) continue;
      this.#due.delete(key);
      const done = await this.#publish(ca, due.scope, kind);
      if (kind === "delta") this.#rested.set(key, this.#restAfter(now));
      if (!done) this.#note({ ...due, at: addSeconds(now, retrySeconds) });
    }
  }

  /** Forgets what is done, unless more has been asked for meanwhile. */
  #settle(key: string, done: Due): void {
    if ((this.#due.get(key)?.covers ?? 0) <= done.covers) this.#due.delete(key);
  }

  /** What was revoked and released by this process. */
  async #noticeChanges(): Promise<void> {
    if (this.#changes.length === 0) return;
    const { scopes } = this.#deps;
    const everUsed = await scopes.everUsed();
    const changes = this.#changes;
    this.#changes = [];
    for (const { kind, ...change } of changes) {
      const place = { ...change, kind: kind === "bare" ? undefined : kind };
      const after = urgent({ ...change, kind })
        ? 0
        : this.#deps.config.crl.refresh_after_revocation_seconds;
      const covers = change.sequence ?? Number.POSITIVE_INFINITY;
      for (const scope of scopesOf(place, scopes.shards, everUsed)) {
        this.#noteDelta(change.caId, scope, covers, 0);
        const at = addSeconds(change.at, after);
        this.#note({ ca: change.caId, scope, kind: "base", covers, at });
      }
    }
  }

  /**
   * Changes that another process or an earlier life of this one committed show in the store-wide
   * sequence, so none is forgotten. The replica that took a revocation publishes it; the others
   * step in when it has not. A bulk run publishes what it did at its end, and is not overtaken by
   * ever longer deltas before (BLK-5).
   */
  async #noticeForeignChanges(): Promise<void> {
    const { store, scopes, config } = this.#deps;
    const seconds = config.crl.refresh_after_revocation_seconds;
    const { revocations } = store.read;
    const sequence = await revocations.sequence();
    if (sequence === this.#seen) return;
    const grace = this.#seen < 0 ? 0 : graceSeconds;
    const busy = await store.read.bulkRevocations.active();
    for (const ca of await store.read.cas.signing()) {
      if (busy.has(ca.id)) continue;
      const last = await revocations.lastChange(ca.id);
      const known = this.#known.get(ca.id) ?? (await scopes.covered(ca.id));
      if (last <= known || !this.#publishes(ca)) continue;
      for (const [scope, latest] of await scopes.touched(ca.id, known)) {
        this.#noteDelta(ca.id, scope, latest, grace);
        const at = addSeconds(this.#deps.clock.now(), seconds + grace);
        this.#note({ ca: ca.id, scope, kind: "base", covers: latest, at });
      }
      this.#known.set(ca.id, last);
    }
    // What was left out is looked for again, should the run end without a list.
    if (busy.size === 0) this.#seen = sequence;
  }

  /** A delta waits until the last one of its scope has rested. */
  #noteDelta(ca: CaId, scope: string, covers: number, seconds: number): void {
    const now = this.#deps.clock.now();
    const rested = this.#rested.get(keyOf({ ca, scope, kind: "delta" })) ?? now;
    // Further away than any rest is long: the clock was set back.
    const soonest = rested - now > restMaxMs ? now : rested;
    const at = instant(Math.max(soonest, addSeconds(now, seconds)));
    this.#note({ ca, scope, kind: "delta", covers, at });
  }

  /** Nothing waits longer than anything is made to: the clock was set back then. */
  #waits(at: Instant, now: Instant): boolean {
    const longest =
      this.#deps.config.crl.refresh_after_revocation_seconds + graceSeconds + retrySeconds;
    return at > now && at <= addSeconds(now, longest);
  }

  /**
   * Long deltas come less often, so that signing them never takes most of the time; the next base
   * makes them short.
   */
  #restAfter(begun: Instant): Instant {
    const now = this.#deps.clock.now();
    const taken = Math.max(0, now - begun);
    return instant(now + Math.min(restMaxMs, Math.max(restSeconds * 1000, restShare * taken)));
  }

  #note(due: Due): void {
    const key = keyOf(due);
    const noted = this.#due.get(key);
    const at = instant(Math.min(due.at, noted?.at ?? due.at));
    this.#due.set(key, { ...due, at, covers: Math.max(due.covers, noted?.covers ?? 0) });
  }

  async #covered({ ca, scope, kind, covers }: Due): Promise<boolean> {
    const published = await this.#deps.publisher.published(ca, scope, kind);
    return published !== undefined && published.sequence >= covers;
  }

  /**
   * True while the next list of the scope would have to begin in the future: each begins a second
   * after the last one.
   */
  async #hurried({ ca, scope }: Due, now: Instant): Promise<boolean> {
    const { base, delta } = await this.#deps.publisher.newest(ca, scope);
    const soonest = soonestAfter([base, delta]);
    return soonest > now && soonest <= now + hurryMsMax;
  }

  /**
   * The scopes that are kept fresh: the full one, and partitions somebody asked for or has to ask
   * for.
   */
  async #kept(ca: CaId): Promise<ReadonlySet<string>> {
    const { store, clock, scopes } = this.#deps;
    const { revocations } = store.read;
    const shardUrls = await revocations.shardUrls(ca, clock.now());
    const published = await scopes.published(ca);
    const named = shardUrls.map(({ partition }) => partitionScope(partition));
    return new Set([fullScope, ...published, ...named]);
  }

  async #renew(ca: CaRecord, scope: string): Promise<void> {
    const { publisher, store } = this.#deps;
    const { revocations } = store.read;
    const base = await revocations.crlHead(ca.id, scope, "base");
    const newest = await revocations.crlHead(ca.id, scope, "delta");
    const seen = { base: base?.number ?? 0, delta: newest?.number ?? 0 };
    if (publisher.renewable(base) || (base && (await this.#outdated(base)))) {
      await this.#publish(ca, scope, "base", seen);
      return;
    }
    const delta = await publisher.published(ca.id, scope, "delta");
    if (publisher.renewable(delta)) await this.#publish(ca, scope, "delta", seen);
  }

  /**
   * True when a base was made under another `crl.shards`, or lacks a URL certificates have (CRL-9,
   * CRL-10).
   */
  async #outdated({ caId, scope, modulus, urls }: CrlHead): Promise<boolean> {
    const { scopes } = this.#deps;
    if (modulus !== (scopes.partition(scope)?.modulus ?? 0)) return true;
    return (await scopes.urls(caId, scope)).some((url) => !urls.includes(url));
  }

  // Retired and superseded members keep publishing until their own notAfter (CRL-14).
  #publishes(ca: CaRecord): boolean {
    return ca.notAfter !== undefined && this.#deps.clock.now() <= ca.notAfter;
  }

  async #publish(ca: CaRecord, scope: string, kind: CrlKind, seen?: CrlNumbers): Promise<boolean> {
    const { publisher } = this.#deps;
    try {
      await publisher.renew(ca, scope, kind, seen);
      return true;
    } catch (error) {
      // One CA whose key is away must not keep the others from publishing.
      this.#deps.onFailure(ca.id, error);
      return false;
    }
  }
}

const urgent = ({ kind, reason }: Pick<RevocationChange, "kind" | "reason">): boolean =>
  isCaCertificate(kind) || reason === "keyCompromise" || reason === "cACompromise";

const keyOf = ({ ca, scope, kind }: Pick<Due, "ca" | "scope" | "kind">) => `${ca}/${scope}/${kind}`;

/** Further ahead than this no hurry brings lists; then a clock was wrong. */
const hurryMsMax = 2000;
const retrySeconds = 5;
/** Between two deltas of a scope, at least: what comes meanwhile is in the second. */
const restSeconds = 0.5;
/** How much longer than it took to sign a delta rests. */
const restShare = 2;
const restMaxMs = 5000;
/** How long the replica that took a change is given to publish it. */
const graceSeconds = 2;
