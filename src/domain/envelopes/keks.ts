/** The key-encryption key in its versions: which one seals, and the making of the next. */

import { sha256Hex } from "#core/crypto.ts";
import { Problem, refuse } from "#core/problems.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { fingerprintOf, spkiSha256 as digestOf } from "#core/x509/public-keys.ts";
import { discarded } from "#domain/discard.ts";
import type { KeyRef, ProviderName } from "#domain/key-ref.ts";
import type { KekHandle, KekInUse, Keys } from "#domain/keys.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store, Unit } from "#domain/store.ts";
import { halfOf, rememberHalf } from "./hybrid.ts";
import type { KekVersion } from "./store.ts";

export interface KekDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  /** Where new versions are made, and under which label family (`secret.kek_label`). */
  readonly provider: ProviderName;
  readonly family: string;
  /**
   * True while new versions get an ML-KEM half and those that have one wrap with it
   * (`secret.pqc_hybrid`).
   */
  readonly hybrid?: boolean;
}

/** The versions of one instance's KEK. */
export class Keks {
  readonly #deps: KekDeps;
  #telling: Promise<unknown> = Promise.resolve();
  #heard = 0;

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

  /** True when data keys under `version` are wrapped with its ML-KEM half as well. */
  wrapsHybrid(version: KekVersion): Promise<boolean> {
    return wrapsHybrid(this.#deps, version);
  }

  /** Makes the first version when there is none, and tells the key stores which there are. */
  async prepare(): Promise<void> {
    await this.active();
    await this.tell();
  }

  /**
   * As `tellKeks`, and says in the store that this process has heard of the active version. One
   * after the other, so that an older list never follows a newer one.
   */
  tell(): Promise<void> {
    const told = this.#telling.then(() => this.#tellAndSay());
    this.#telling = told.catch(() => {}); // Its caller sees the failure; the next one starts clean.
    return told;
  }

  async #tellAndSay(): Promise<void> {
    const active = activeOf(await tellKeks(this.#deps));
    const { version = 0 } = active ?? {};
    if (active === undefined || version <= this.#heard) return;
    // Who cannot open what is sealed from now on does not say so: then the old version stays.
    if (!(await hasItsHalf(this.#deps, active))) unavailable();
    // Recorded by the next call, once the database may be written again.
    if (this.#deps.store.rollback() !== undefined) return;
    await this.#deps.store.atomically((tx) => tx.envelopes.heard(version));
    this.#heard = version;
  }

  /**
   * Makes the version after `replaced` and lets it seal from now on; `record` appends what the same
   * unit records. Gives undefined, with the new key destroyed, when another process was faster.
   */
  async next(
    replaced: KekVersion | undefined,
    record: (tx: Unit, next: KekVersion, at: Instant) => Promise<void> = async () => {},
  ): Promise<KekVersion | undefined> {
    const { store, clock, family } = this.#deps;
    const { version, handle, half } = await this.#make(replaced?.version ?? 0);
    const { key, spki, deviceSerial } = handle;
    const spkiSha256 = spki && digestOf(spki);
    const createdAt = clock.now();
    const status = "active";
    const next: KekVersion = { version, status, family, key, deviceSerial, spkiSha256, createdAt };
    const ledgerBegun = (await store.read.audit.ledgerHead()).seq > 0;
    let begun: boolean;
    try {
      begun = await store.atomically(async (tx) => {
        if (!(await tx.envelopes.begin(next, replaced?.version))) return false;
        if (spkiSha256 !== undefined) await tx.keyChecks.claim(spkiSha256);
        if (half !== undefined) await rememberHalf(tx, next, half);
        if (ledgerBegun) await announceKek(tx, next, "generate", createdAt);
        await record(tx, next, createdAt);
        return true;
      });
    } catch (error) {
      // A commit whose answer was lost is the one case in which the row may exist: then, or when
      // nobody can say, the key stays.
      const known = await this.#known(version).catch(() => true);
      if (!known) await this.#discard(key, half);
      throw error;
    }
    if (!begun && !(await this.#known(version))) await this.#discard(key, half);
    return begun ? next : undefined;
  }

  /**
   * Announces in the ledger what was made before there was one, or by a release that did not (rule
   * V9).
   */
  async announce(): Promise<void> {
    const { store, clock } = this.#deps;
    for (const version of await this.versions()) {
      if ((await store.read.instance.value(announcementOf(version))) !== undefined) continue;
      const at = clock.now();
      await store.atomically((tx) => announceKek(tx, version, "generate", at));
    }
  }

  /**
   * Units come one after the other: behind an empty one nothing that was begun before it is
   * undecided.
   */
  async #known(version: number): Promise<boolean> {
    await this.#deps.store.atomically(async () => {});
    return (await this.versions()).some((one) => one.version === version);
  }

  async #discard(key: KeyRef, half: string | undefined): Promise<void> {
    const { keks } = this.#deps.keys;
    if (half !== undefined) await discarded(() => keks.halves.destroy(key));
    await discarded(() => keks.destroy(key));
  }

  /** A crash between a key and its row leaves a label taken: then the next number is. */
  async #make(last: number): Promise<Made> {
    const { keys, provider, family } = this.#deps;
    for (let version = last + 1; version <= last + labelsTried; version += 1) {
      try {
        const handle = await keys.keks.generate({ provider, label: `${family}-v${version}` });
        return { version, handle, half: await this.#makeHalf(handle) };
      } catch (error) {
        if (!(error instanceof Problem && error.code === "already_exists")) throw error;
      }
    }
    return unavailable();
  }

  /** A version whose half cannot be made is none. */
  async #makeHalf({ key }: KekHandle): Promise<string | undefined> {
    const { keys, hybrid } = this.#deps;
    if (hybrid !== true) return undefined;
    try {
      return await keys.keks.halves.generate(key);
    } catch (error) {
      await discarded(() => keys.keks.destroy(key));
      throw error;
    }
  }
}

interface Made {
  readonly version: number;
  readonly handle: KekHandle;
  /** Fingerprint of its ML-KEM half. */
  readonly half: string | undefined;
}

/** False when a version was made with an ML-KEM half and this key store does not have that one. */
export async function hasItsHalf(
  { store, keys }: Pick<KekDeps, "store" | "keys">,
  version: Pick<KekVersion, "version" | "key">,
): Promise<boolean> {
  const made = await halfOf(store, version);
  if (made === undefined) return true;
  try {
    return (await keys.keks.halves.fingerprint(version.key)) === made;
  } catch (error) {
    if (error instanceof Problem && error.code === "key_unavailable") return false;
    throw error;
  }
}

/**
 * The one rule: switched on, and made with a half. One that is missing since is missed at use,
 * never done without.
 */
async function wrapsHybrid(
  { store, hybrid }: Pick<KekDeps, "store" | "hybrid">,
  version: Pick<KekVersion, "version">,
): Promise<boolean> {
  return hybrid === true && (await halfOf(store, version)) !== undefined;
}

/**
 * Tells the key stores which versions open, and which one seals private keys from now on; gives all
 * there are.
 */
export async function tellKeks(
  deps: Pick<KekDeps, "store" | "keys" | "hybrid">,
): Promise<readonly KekVersion[]> {
  const { store, keys } = deps;
  const versions = await store.read.envelopes.versions();
  const inUse: KekInUse[] = [];
  for (const { status, version, family, key } of versions) {
    if (status === "retired") continue;
    const hybrid = await wrapsHybrid(deps, { version });
    inUse.push({ version, family, status, key, hybrid });
  }
  await keys.keks.use(inUse);
  return versions;
}

/**
 * How the ledger names a KEK: an RSA key by its public key, an AES key, which has none, by where it
 * is found.
 */
export function kekFingerprint({
  key,
  spkiSha256,
}: Pick<KekVersion, "key" | "spkiSha256">): string {
  const name = ["pkid/kek/1", key.provider, key.label, key.id].join("\n");
  return fingerprintOf(spkiSha256 ?? sha256Hex(Buffer.from(name)));
}

/** Enters in the ledger that a version was made or destroyed. */
export async function announceKek(
  tx: Unit,
  version: KekVersion,
  operation: "generate" | "destroy",
  at: Instant,
): Promise<void> {
  const { key, deviceSerial } = version;
  await tx.instance.setValue(announcementOf(version), kekFingerprint(version));
  await tx.audit.appendLedger({
    kind: "key",
    timestamp: timestamp(at),
    provider: key.provider,
    deviceSerial,
    keyLabel: key.label,
    signerFingerprint: kekFingerprint(version),
    role: "kek",
    operation,
  });
}

const announcementOf = ({ version }: Pick<KekVersion, "version">) => `kek_announced/${version}`;

const activeOf = (versions: readonly KekVersion[]): KekVersion | undefined =>
  versions.find(({ status }) => status === "active");

function unavailable(): never {
  throw refuse("key_unavailable", { retry_after: 2 });
}

const labelsTried = 16;
