/**
 * How many proofs are looked for at once, in this process: altogether, for one account and at one
 * host.
 */

import type { DueChallenge } from "./store.ts";

/** An attempt, as far as its place is concerned. */
export type Attempt = Pick<DueChallenge, "account" | "host">;

/** Who cannot have another place at some moment. */
export interface Closed {
  /** No place is left for anybody. */
  readonly all: boolean;
  readonly accounts: readonly string[];
  readonly hosts: readonly string[];
}

/**
 * Places of attempts. Whoever has none does not wait in here: it is left where it is, and holds
 * nothing that others could use.
 */
export class AttemptPlaces {
  readonly #accounts = new Map<string, number>();
  readonly #hosts = new Map<string, number>();
  #left = altogether;

  /** Takes a place, to be given back; false where there is none. */
  take(attempt: Attempt): boolean {
    if (!this.isOpen(attempt)) return false;
    const { account, host } = attempt;
    this.#left--;
    add(this.#accounts, account, 1);
    add(this.#hosts, host, 1);
    return true;
  }

  /** True when there is a place. */
  isOpen({ account, host }: Attempt): boolean {
    return this.#left > 0 && !this.#isFull(account) && (this.#hosts.get(host) ?? 0) < perHost;
  }

  /** Gives a place back. */
  give({ account, host }: Attempt): void {
    this.#left++;
    add(this.#accounts, account, -1);
    add(this.#hosts, host, -1);
  }

  /** Those that `take` refuses now, whatever else is asked for. */
  closed(): Closed {
    return {
      all: this.#left === 0,
      accounts: [...this.#accounts.keys()].filter((account) => this.#isFull(account)),
      hosts: [...this.#hosts].filter(([, taken]) => taken >= perHost).map(([host]) => host),
    };
  }

  /** True when somebody may have a place now who could not have one then. */
  opened({ all, accounts, hosts }: Closed): boolean {
    const now = this.closed();
    if (now.all) return false;
    return (
      all ||
      accounts.some((account) => !now.accounts.includes(account)) ||
      hosts.some((host) => !now.hosts.includes(host))
    );
  }

  /**
   * An account has as many places as are left at most, so that a few who would use all of them
   * leave some to whoever comes later, and the more they are, the less each has.
   */
  #isFull(account: string): boolean {
    return (this.#accounts.get(account) ?? 0) >= Math.min(perAccount, this.#left);
  }
}

function add(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

const altogether = 64;
const perAccount = 16;
const perHost = 4;
