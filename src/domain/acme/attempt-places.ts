/**
 * Bounds the validation attempts that run in this process: in all, for a tenant, for an address,
 * for an account and at a host.
 */

import type { ChallengeSource, DueChallenge } from "./store.ts";

/** Attributes of an attempt that decide about its slot. */
export interface Attempt extends Pick<DueChallenge, "account" | "host"> {
  /** Undefined if another process, or an earlier one, has started the challenge. */
  readonly source?: ChallengeSource | undefined;
}

/** Keys that cannot have another slot at some moment. */
export interface Closed {
  /** True if no slot is free. */
  readonly all: boolean;
  readonly accounts: readonly string[];
  readonly hosts: readonly string[];
  readonly tenants: readonly string[];
  readonly blocks: readonly string[];
}

/** Slots of attempts. A challenge without one does not wait here: it remains in the store. */
export class AttemptPlaces {
  readonly #accounts = new Map<string, number>();
  readonly #hosts = new Map<string, number>();
  readonly #tenants = new Map<string, number>();
  readonly #blocks = new Map<string, number>();
  #left = altogether;

  /** Takes a slot, which `give` returns; false if there is none. */
  take(attempt: Attempt): boolean {
    if (!this.isOpen(attempt)) return false;
    this.#left--;
    this.#add(attempt, 1);
    return true;
  }

  /** True if a slot is free for the attempt. */
  isOpen(attempt: Attempt): boolean {
    const { account, host } = attempt;
    if (this.#left === 0 || this.isSourceFull(attempt)) return false;
    return !this.#isFull(account) && (this.#hosts.get(host) ?? 0) < perHost;
  }

  /** True while the tenant or the address has all its slots. */
  isSourceFull({ source }: Attempt): boolean {
    if (source === undefined) return false;
    return this.#isTenantFull(source.tenant) || this.#isBlockFull(formatSourceKey(source));
  }

  /** Returns the number of slots of the address in its tenant, 0 for an unknown address. */
  countOfBlock({ source }: Attempt): number {
    return source === undefined ? 0 : (this.#blocks.get(formatSourceKey(source)) ?? 0);
  }

  /** Returns a slot. */
  give(attempt: Attempt): void {
    this.#left++;
    this.#add(attempt, -1);
  }

  /** Returns the keys that `take` refuses now. */
  closed(): Closed {
    const full = (counts: ReadonlyMap<string, number>, isFull: (key: string) => boolean) =>
      [...counts.keys()].filter(isFull);
    return {
      all: this.#left === 0,
      accounts: full(this.#accounts, (account) => this.#isFull(account)),
      hosts: full(this.#hosts, (host) => (this.#hosts.get(host) ?? 0) >= perHost),
      tenants: full(this.#tenants, (tenant) => this.#isTenantFull(tenant)),
      blocks: full(this.#blocks, (block) => this.#isBlockFull(block)),
    };
  }

  /** True if an attempt may have a slot now that could not have one then. */
  opened({ all, ...then }: Closed): boolean {
    const now = this.closed();
    if (now.all) return false;
    const kinds = ["accounts", "hosts", "tenants", "blocks"] as const;
    return all || kinds.some((kind) => then[kind].some((key) => !now[kind].includes(key)));
  }

  /**
   * True if the account has as many slots as are free. So a few accounts leave some to later ones,
   * and the more accounts there are, the fewer each has.
   */
  #isFull(account: string): boolean {
    return (this.#accounts.get(account) ?? 0) >= Math.min(perAccount, this.#left);
  }

  /** True if the address is full. Accounts cost nothing, so addresses share the slots first. */
  #isBlockFull(block: string): boolean {
    return (this.#blocks.get(block) ?? 0) >= Math.min(perBlock, this.#left);
  }

  /** True if the tenant is full; a third of the slots remains for other tenants. */
  #isTenantFull(tenant: string): boolean {
    return (this.#tenants.get(tenant) ?? 0) >= 2 * this.#left;
  }

  #add({ account, host, source }: Attempt, change: 1 | -1): void {
    add(this.#accounts, account, change);
    add(this.#hosts, host, change);
    if (source === undefined) return;
    add(this.#tenants, source.tenant, change);
    add(this.#blocks, formatSourceKey(source), change);
  }
}

/** Returns the key of an address in a tenant: no tenant takes the slots of another. */
export const formatSourceKey = ({ tenant, block }: ChallengeSource): string => `${tenant} ${block}`;

function add(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

const altogether = 64;
const perBlock = 24;
const perAccount = 16;
const perHost = 4;
