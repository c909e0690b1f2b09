/** Keeps the published CRLs true: signs anew after revocations, and at half of a CRL's life. */

import type { CaId } from "#core/ids.ts";
import { addSeconds, type Instant, instant } from "#core/time.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { type CrlPublisher, fullScope } from "./crl.ts";
import type { RevocationChange } from "./revoke.ts";
import { systemOrigin } from "./system-origin.ts";
import { isCaCertificate } from "./transitions.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly publisher: Pick<CrlPublisher, "publish" | "renewable">;
  /** `crl.refresh_after_revocation_seconds`. */
  readonly refreshAfterRevocationSeconds: number;
  /** Asks for `afterRevocations` now. */
  readonly wake: () => void;
  /** Told why a CRL could not be signed; it is tried again until it can. */
  readonly onFailure: (ca: CaId, error: unknown) => void;
}

/** Decides when the CRL of which CA is signed. */
export class CrlRefresh {
  readonly #deps: Deps;
  /** When the CRL of a CA has to be signed at the latest; the first change after a CRL sets it (debounce). */
  readonly #due = new Map<CaId, Instant>();
  #seen = -1;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Takes note of a committed change; key compromise and CA certificates cannot wait (CRL-3, §1). */
  changed(change: RevocationChange): void {
    const { clock, refreshAfterRevocationSeconds } = this.#deps;
    const urgent =
      isCaCertificate(change.kind) ||
      change.reason === "keyCompromise" ||
      change.reason === "cACompromise";
    const now = clock.now();
    const wanted = urgent ? now : addSeconds(now, refreshAfterRevocationSeconds);
    const due = this.#due.get(change.caId);
    this.#due.set(change.caId, instant(Math.min(wanted, due ?? wanted)));
    if (wanted <= now) this.#deps.wake();
  }

  /**
   * Signs what is due; runs about every second, and at once after `changed` when nothing may wait. Changes that another
   * process or an earlier life of this one committed show in the store-wide sequence, so none is forgotten.
   */
  async afterRevocations(): Promise<void> {
    await this.#noticeForeignChanges();
    const now = this.#deps.clock.now();
    for (const [id, due] of [...this.#due]) {
      if (due > now) continue;
      const ca = await this.#deps.store.read.cas.byId(id);
      this.#due.delete(id);
      if (ca !== undefined && this.#publishes(ca) && !(await this.#publish(ca))) {
        this.#due.set(id, addSeconds(now, retrySeconds));
      }
    }
  }

  /** Signs every CRL that is absent or past half of its life. */
  async renewals(): Promise<void> {
    for (const ca of await this.#deps.store.read.cas.signing()) {
      const head = await this.#deps.store.read.revocations.crlHead(ca.id, fullScope);
      if (this.#publishes(ca) && this.#deps.publisher.renewable(head)) await this.#publish(ca);
    }
  }

  async #noticeForeignChanges(): Promise<void> {
    const { store } = this.#deps;
    const sequence = await store.read.revocations.sequence();
    if (sequence === this.#seen) return;
    for (const ca of await store.read.cas.signing()) {
      if (this.#due.has(ca.id) || !this.#publishes(ca)) continue;
      const head = await store.read.revocations.crlHead(ca.id, fullScope);
      const last = await store.read.revocations.lastChange(ca.id);
      if (last > (head?.sequence ?? 0)) this.#due.set(ca.id, this.#wait());
    }
    this.#seen = sequence;
  }

  #wait(): Instant {
    return addSeconds(this.#deps.clock.now(), this.#deps.refreshAfterRevocationSeconds);
  }

  // Retired and superseded members keep publishing until their own notAfter (CRL-14).
  #publishes(ca: CaRecord): boolean {
    return ca.notAfter !== undefined && this.#deps.clock.now() <= ca.notAfter;
  }

  async #publish(ca: CaRecord): Promise<boolean> {
    try {
      await this.#deps.publisher.publish(ca, systemOrigin("crl"));
      return true;
    } catch (error) {
      // One CA whose key is away must not keep the others from publishing.
      this.#deps.onFailure(ca.id, error);
      return false;
    }
  }
}

const retrySeconds = 5;
