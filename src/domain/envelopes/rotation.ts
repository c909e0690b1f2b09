/**
 * Rotates the KEK: the next version, every data key under it, and then the end of the old one
 * (KEK-4).
 */

import { effectiveRoles } from "#core/access/principal.ts";
import type { EventDraft } from "#core/audit/actions.ts";
import { assert, refuse } from "#core/problems.ts";
import type { Origin } from "#domain/actor.ts";
import type { Keys } from "#domain/keys.ts";
import type { Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { Envelopes } from "./envelopes.ts";
import type { Keks } from "./keks.ts";
import type { KekVersion, SealedValue } from "./store.ts";

export interface RotationDeps {
  readonly store: Store;
  readonly random: Random;
  readonly keks: Keks;
  readonly keys: Pick<Keys, "keks">;
  readonly envelopes: Envelopes;
  readonly pause: (milliseconds: number) => Promise<void>;
}

/** What a rotation did. */
export interface Rotated {
  readonly family: string;
  readonly oldVersion: number;
  readonly newVersion: number;
  /** Values and private keys whose header was written anew by this run. */
  readonly rewrapped: number;
}

/**
 * Rotation. Its event is committed with the new version; a crash or an absent key after that leaves
 * the old one `retiring`, which still opens, and `finish` or the next rotation goes on where it
 * stopped.
 */
export class KekRotation {
  readonly #deps: RotationDeps;
  #active: string | undefined;
  /** True once every private key was seen under the active version in this process. */
  #settled = false;

  constructor(deps: RotationDeps) {
    this.#deps = deps;
  }

  /**
   * Refuses `operation_running`; an unfinished rotation is finished, and no further version made.
   */
  async rotate(origin: Origin): Promise<Rotated> {
    if (this.#active !== undefined) {
      throw refuse("operation_running", { operation_id: this.#active });
    }
    return this.#alone(async () => {
      const active = await this.#deps.keks.active();
      const pending = retiringOf(await this.#deps.keks.versions());
      if (pending !== undefined) return this.#drain(pending, active);
      const next = await this.#deps.keks.next(active, async (tx, made, at) => {
        await tx.audit.appendEvent(rotationEvent(origin, active, made), at);
      });
      // Another process rotates at this moment.
      if (next === undefined)
        throw refuse("operation_running", { operation_id: this.#active ?? "" });
      return this.#drain(active, next);
    });
  }

  /**
   * Brings every private key under the active version that is not: what a start does before keys
   * are used.
   */
  async settle(): Promise<void> {
    await this.#reseal(await this.#deps.keks.active());
  }

  /**
   * Finishes what a crash or an absent key left open, also the first envelopes around private keys
   * that an earlier release sealed; changes nothing else. Takes up versions another process has
   * made.
   */
  async finish(): Promise<void> {
    if (this.#active !== undefined) return;
    const { keks } = this.#deps;
    await keks.prepare();
    const active = await keks.active();
    const pending = retiringOf(await keks.versions());
    // A rotation may have begun while this looked.
    if (this.#active !== undefined || (pending === undefined && this.#settled)) return;
    await this.#alone(async () => {
      if (pending === undefined) await this.#reseal(active);
      else await this.#drain(pending, active);
    });
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    this.#active = this.#deps.random.uuid();
    try {
      return await work();
    } finally {
      this.#active = undefined;
    }
  }

  async #drain(old: KekVersion, to: KekVersion): Promise<Rotated> {
    const { store, keks } = this.#deps;
    let rewrapped = 0;
    // New private keys are sealed under the new version, here and everywhere, before the old ones
    // are looked for.
    await keks.tell();
    await this.#untilHeard(to);
    // What is sealed under the old version while this runs is found when the store refuses to
    // retire it.
    for (let round = 0; round < roundsMax; round += 1) {
      rewrapped += await this.#rewrapAll(old, to);
      rewrapped += await this.#reseal(to);
      if (await store.atomically((tx) => tx.envelopes.retire(old.version))) {
        await keks.tell();
        const { version: oldVersion } = old;
        return { family: to.family, oldVersion, newVersion: to.version, rewrapped };
      }
    }
    throw refuse("key_unavailable", { retry_after: 2 });
  }

  /**
   * Refuses `key_unavailable` when a replica stays silent; until it speaks or ends, the old version
   * opens as before.
   */
  async #untilHeard({ version }: KekVersion): Promise<void> {
    const { store, pause } = this.#deps;
    for (let waited = 0; (await store.read.envelopes.unheard(version)) > 0; waited += pollMs) {
      if (waited >= heardWithinMs) throw refuse("key_unavailable", { retry_after: 10 });
      await pause(pollMs);
    }
  }

  async #reseal(to: KekVersion): Promise<number> {
    const resealed = await this.#deps.keys.keks.reseal(to.version);
    this.#settled = true;
    return resealed;
  }

  async #rewrapAll(old: KekVersion, to: KekVersion): Promise<number> {
    const { store, envelopes } = this.#deps;
    let rewrapped = 0;
    for (let page = await this.#page(old); page.length > 0; ) {
      const pairs: (readonly [SealedValue, SealedValue])[] = [];
      for (const value of page) pairs.push([value, await envelopes.rewrapped(value, to)]);
      rewrapped += await store.atomically(async (tx) => {
        let changed = 0;
        for (const [from, now] of pairs) if (await tx.envelopes.rewrap(from, now)) changed += 1;
        return changed;
      });
      const last = page.at(-1);
      assert(last !== undefined, "a page that is not empty has a last value");
      page = await this.#page(old, last);
    }
    return rewrapped;
  }

  #page(old: KekVersion, after?: SealedValue): Promise<readonly SealedValue[]> {
    return this.#deps.store.read.envelopes.under(old.version, batch, after?.place);
  }
}

function rotationEvent(
  { principal, ip, requestId, approval }: Origin,
  old: KekVersion,
  next: KekVersion,
) {
  return {
    action: "kek.rotate",
    result: "success",
    actor: principal.subject,
    actorName: principal.name,
    actorRoles: effectiveRoles(principal, undefined),
    target: next.family,
    ip,
    requestId,
    approval: approval?.id,
    detail: { old_version: old.version, new_version: next.version },
  } satisfies EventDraft;
}

/** The oldest first, though there is never more than one unless somebody edited the rows. */
const retiringOf = (versions: readonly KekVersion[]): KekVersion | undefined =>
  versions.findLast(({ status }) => status === "retiring");

/**
 * Replicas hear of an event at once, and of one they missed within seconds; an approval waits no
 * longer than 25 s.
 */
const heardWithinMs = 15_000;
const pollMs = 100;
const batch = 100;
const roundsMax = 100;
