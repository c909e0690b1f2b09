/**
 * Removes accounts that came to nothing: anybody may make one where no credential is asked for, and
 * none would ever go (RFC 8555 §10.5).
 */

import { refuse } from "#core/problems.ts";
import { addSeconds, type Instant, secondsPerDay } from "#core/time.ts";
import { nextTurn } from "#core/turns.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store, Unit } from "#domain/store.ts";
import type { AcmeSections } from "./sections.ts";
import type { AccountRecord } from "./store.ts";

export interface IdleDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly config: () => { readonly acme: Pick<AcmeSections["acme"], "idle_account_days"> };
}

/**
 * Of accounts that never had a certificate, and of those that have ended, none stays for ever. One
 * whose client comes back after all makes another.
 */
export class IdleAccounts {
  readonly #deps: IdleDeps;
  #halted = false;

  constructor(deps: IdleDeps) {
    this.#deps = deps;
  }

  /** Removes those that have been idle for longer than configured; of several replicas one does. */
  async run(): Promise<void> {
    const { store, clock, config } = this.#deps;
    const days = config().acme.idle_account_days;
    if (days === 0) return;
    await store.exclusively("acme-idle-accounts", async () => {
      const before = addSeconds(clock.now(), -days * secondsPerDay);
      for (let parts = 0; parts < partsMax && !this.#halted; parts++) {
        const went = await store.atomically((tx) => tx.acme.pruneAccounts(before, accountsAtOnce));
        if (went === 0) return;
        await nextTurn();
      }
    });
  }

  /** Begins no further part. */
  halt(): void {
    this.#halted = true;
  }
}

/**
 * Takes note that an account does something, in the unit that does it. Refuses
 * `acme_account_unknown` for one that was removed meanwhile.
 */
export async function stirred(
  tx: Unit,
  { id, idleSince }: Pick<AccountRecord, "id" | "idleSince">,
  at: Instant,
): Promise<void> {
  if (idleSince === undefined) return;
  if ((await tx.acme.lockAccount(id)) === undefined) throw refuse("acme_account_unknown");
  await tx.acme.setIdle(id, at);
}

const accountsAtOnce = 200;
const partsMax = 10_000;
