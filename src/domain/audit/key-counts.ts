/** Counts the signatures of keys whose operations the ledger does not list, and writes the counts into it (KEY-5). */

import type { KeyRole } from "#core/audit/ledger.ts";
import { timestamp } from "#core/time.ts";
import { fingerprint } from "#core/x509/public-keys.ts";
import type { HeldKey } from "#domain/keys.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";

/** Signatures of one key since its last `count` entry. */
interface Tally {
  readonly held: HeldKey;
  readonly role: KeyRole;
  count: number;
}

interface Deps {
  readonly store: Pick<Store, "atomically">;
  readonly clock: Clock;
  /** Told what kept counts from being written; they are kept and written with the next. */
  readonly onFailure: (error: unknown) => void;
}

/** The counts of this process; a crash loses at most what was signed since the last write. */
export class KeyCounts {
  readonly #deps: Deps;
  readonly #tallies = new Map<string, Tally>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Adds one signature; every 65,536th of a key writes its count. */
  add(held: HeldKey, role: "responder" | "tsa"): void {
    const tally = this.#tallies.get(held.ref.id);
    if (tally === undefined) {
      this.#tallies.set(held.ref.id, { held, role, count: 1 });
      return;
    }
    tally.count += 1;
    if (tally.count % writtenEvery === 0) this.#write(tally).catch(this.#deps.onFailure);
  }

  /** Writes every count that is not zero: hourly, at shutdown, and before an export. */
  async write(): Promise<void> {
    for (const tally of this.#tallies.values()) await this.#write(tally);
  }

  async #write(tally: Tally): Promise<void> {
    const { held, role, count } = tally;
    if (count === 0) return;
    tally.count = 0;
    const at = this.#deps.clock.now();
    const signerFingerprint = fingerprint(held.spki);
    try {
      await this.#deps.store.atomically(async (tx) => {
        const total = await tx.instance.add(`signatures/${signerFingerprint}`, count);
        await tx.audit.appendLedger({
          ...{ kind: "count", timestamp: timestamp(at), provider: held.ref.provider, role },
          ...{ deviceSerial: held.deviceSerial, keyLabel: held.ref.label, signerFingerprint },
          ...{ operation: "sign", count: String(count), total: String(total) },
        });
      });
    } catch (error) {
      tally.count += count;
      throw error;
    }
  }
}

const writtenEvery = 65_536;
