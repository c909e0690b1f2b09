/**
 * Counts the operations of keys that the ledger does not list, and writes the counts into it
 * (KEY-5).
 */

import type { LedgerEntry } from "#core/audit/ledger.ts";
import { timestamp } from "#core/time.ts";
import { fingerprint } from "#core/x509/public-keys.ts";
import { kekFingerprint } from "#domain/envelopes/keks.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type { KeyHandle } from "#domain/keys.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";

/** Operations of one key since its last `count` entry. */
interface Tally {
  readonly key: KeyHandle | KeyRef;
  readonly role: "responder" | "tsa" | "kek";
  count: number;
}

/** What a `count` entry says of its key. */
type Counted = Pick<
  LedgerEntry,
  "provider" | "deviceSerial" | "keyLabel" | "signerFingerprint" | "operation"
>;

interface Deps {
  readonly store: Pick<Store, "atomically" | "read">;
  readonly clock: Clock;
  /** Told what kept counts from being written; they are kept and written with the next. */
  readonly onFailure: (error: unknown) => void;
}

/** The counts of this process; a crash loses at most what was done since the last write. */
export class KeyCounts {
  readonly #deps: Deps;
  readonly #tallies = new Map<string, Tally>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Adds one signature; every 65,536th of a key writes its count. */
  add(handle: KeyHandle, role: "responder" | "tsa"): void {
    this.#add(handle.ref.id, handle, role);
  }

  /**
   * Adds one data key unwrapped, as a decryption. Wrapping is not counted: the ledger has no word
   * for it, and with an RSA key it is no operation of the private key.
   */
  addKek(kek: KeyRef): void {
    this.#add(kek.id, kek, "kek");
  }

  /** As `write`, where nobody is left to be told: what is not written is lost, as in a crash. */
  async writeLast(): Promise<void> {
    await this.write().catch(this.#deps.onFailure);
  }

  /** Writes every count that is not zero: hourly, at shutdown, and before an export. */
  async write(): Promise<void> {
    for (const tally of this.#tallies.values()) await this.#write(tally);
  }

  #add(id: string, key: KeyHandle | KeyRef, role: Tally["role"]): void {
    const tally = this.#tallies.get(id);
    if (tally === undefined) {
      this.#tallies.set(id, { key, role, count: 1 });
      return;
    }
    tally.count += 1;
    if (tally.count % writtenEvery === 0) this.#write(tally).catch(this.#deps.onFailure);
  }

  async #write(tally: Tally): Promise<void> {
    const { role, count } = tally;
    if (count === 0) return;
    tally.count = 0;
    const at = this.#deps.clock.now();
    try {
      const key = await this.#countedKey(tally);
      await this.#deps.store.atomically(async (tx) => {
        const total = await tx.instance.add(`signatures/${key.signerFingerprint}`, count);
        await tx.audit.appendLedger({
          kind: "count",
          timestamp: timestamp(at),
          role,
          ...key,
          count: String(count),
          total: String(total),
        });
      });
    } catch (error) {
      tally.count += count;
      throw error;
    }
  }

  async #countedKey({ key }: Tally): Promise<Counted> {
    if ("ref" in key) {
      const { provider, label: keyLabel } = key.ref;
      const { deviceSerial } = key;
      const named = { provider, deviceSerial, keyLabel, signerFingerprint: fingerprint(key.spki) };
      return { ...named, operation: "sign" };
    }
    const { provider, label: keyLabel, id } = key;
    const versions = await this.#deps.store.read.envelopes.versions();
    const version = versions.find((one) => one.key.id === id && one.key.provider === provider);
    const signerFingerprint = kekFingerprint(version ?? { key, spkiSha256: undefined });
    const deviceSerial = version?.deviceSerial ?? "";
    return { provider, deviceSerial, keyLabel, signerFingerprint, operation: "decrypt" };
  }
}

const writtenEvery = 65_536;
