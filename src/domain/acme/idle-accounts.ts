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
  /** Most idle accounts, 100,000 by default, and most unfinished orders of each status, 20,000. */
  readonly most?: { readonly accounts: number; readonly orders: number };
}

/**
 * Deletes accounts that never had a certificate, and ended ones, after a time. The oldest go when
 * there are too many, as do orders without a certificate. A client that returns creates another.
 */
export class IdleAccounts {
  readonly #deps: IdleDeps;
  #halted = false;

  constructor(deps: IdleDeps) {
    this.#deps = deps;
  }

  /**
   * Removes accounts that have been idle for longer than configured, and the oldest records beyond
   * the most that are stored; of several replicas one does.
   */
  async run(): Promise<void> {
    const { store, clock, config, most = usualMost } = this.#deps;
    const days = config().acme.idle_account_days;
    await store.exclusively("acme-idle-accounts", async () => {
      for (const status of ["invalid", "pending", "ready"] as const) {
        await this.#repeat((tx) =>
          tx.acme.discardBeyond(status, most.orders, ordersPerTransaction),
        );
      }
      if (days === 0) return;
      const old = addSeconds(clock.now(), -days * secondsPerDay);
      const beyond = await store.read.acme.idleSinceBeyond(most.accounts);
      const before = beyond === undefined || beyond < old ? old : beyond;
      await this.#repeat((tx) => tx.acme.pruneAccounts(before, accountsAtOnce));
    });
  }

  async #repeat(part: (tx: Unit) => Promise<number>): Promise<void> {
    for (let parts = 0; parts < partsMax && !this.#halted; parts++) {
      if ((await this.#deps.store.atomically(part)) === 0) return;
      await nextTurn();
    }
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
/** An order has up to 1,000 authorizations. */
const ordersPerTransaction = 10;
const usualMost = { accounts: 100_000, orders: 20_000 };
const partsMax = 10_000;
