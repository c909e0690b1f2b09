/** The key-encryption key in its versions: which one seals, and the making of the next. */

import { Problem, refuse } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { KeyRef, Keys, ProviderName } from "#domain/keys.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store, Unit } from "#domain/store.ts";
import type { KekVersion } from "./store.ts";

export interface KekDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  /** Where new versions are made, and under which label family (`secret.kek_label`). */
  readonly provider: ProviderName;
  readonly family: string;
}

/** The versions of one instance's KEK. */
export class Keks {
  readonly #deps: KekDeps;

  constructor(deps: KekDeps) {
    this.#deps = deps;
  }

  /** Newest first; none before the first start. */
  versions(): Promise<readonly KekVersion[]> {
    return this.#deps.store.read.envelopes.versions();
  }

  /** Where the version that seals is held, or the first one would be. */
  async holder(): Promise<Pick<KeyRef, "provider">> {
    return activeOf(await this.versions())?.key ?? { provider: this.#deps.provider };
  }

  /** The version that seals; the first is made when there is none. */
  async active(): Promise<KekVersion> {
    const known = activeOf(await this.versions());
    if (known !== undefined) return known;
    return (await this.next(undefined)) ?? activeOf(await this.versions()) ?? unavailable();
  }

  /** Makes the first version when there is none, and tells the key stores which there are. */
  async prepare(): Promise<void> {
    await this.active();
    await this.tell();
  }

  /** As `tellKeks`. */
  tell(): Promise<void> {
    return tellKeks(this.#deps);
  }

  /**
   * Makes the version after `replaced` and lets it seal from now on; `record` appends what the same unit records.
   * Gives undefined, with the new key destroyed, when another process was faster.
   */
  async next(
    replaced: KekVersion | undefined,
    record: (tx: Unit, next: KekVersion, at: Instant) => Promise<void> = async () => {},
  ): Promise<KekVersion | undefined> {
    const { store, keys, clock, family } = this.#deps;
    const { version, key } = await this.#make(replaced?.version ?? 0);
    const createdAt = clock.now();
    const next: KekVersion = { version, status: "active", family, key, createdAt };
    let begun = false;
    try {
      begun = await store.atomically(async (tx) => {
        if (!(await tx.envelopes.begin(next, replaced?.version))) return false;
        await record(tx, next, createdAt);
        return true;
      });
    } finally {
      // A commit whose answer was lost is the one case in which the row may exist: then the key stays.
      if (!begun && !(await this.#known(version))) await keys.keks.destroy(key);
    }
    return begun ? next : undefined;
  }

  async #known(version: number): Promise<boolean> {
    return (await this.versions()).some((one) => one.version === version);
  }

  /** A crash between a key and its row leaves a label taken: then the next number is. */
  async #make(last: number): Promise<{ readonly version: number; readonly key: KeyRef }> {
    const { keys, provider, family } = this.#deps;
    for (let version = last + 1; version <= last + labelsTried; version += 1) {
      try {
        const { key } = await keys.keks.generate({ provider, label: `${family}-v${version}` });
        return { version, key };
      } catch (error) {
        if (!(error instanceof Problem && error.code === "already_exists")) throw error;
      }
    }
    return unavailable();
  }
}

/** Tells the key stores which versions open, and which one seals private keys from now on. */
export async function tellKeks({ store, keys }: Pick<KekDeps, "store" | "keys">): Promise<void> {
  const versions = (await store.read.envelopes.versions()).flatMap(
    ({ status, version, family, key }) =>
      status === "retired" ? [] : [{ version, family, status, key }],
  );
  await keys.keks.use(versions);
}

const activeOf = (versions: readonly KekVersion[]): KekVersion | undefined =>
  versions.find(({ status }) => status === "active");

function unavailable(): never {
  throw refuse("key_unavailable", { retry_after: 2 });
}

const labelsTried = 16;
