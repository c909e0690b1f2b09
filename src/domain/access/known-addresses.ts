/** Remembers from which addresses an account's password was right of late. */

/**
 * Bounded, and by account, so that whoever has one account displaces the addresses of no other one.
 */
export class KnownAddresses {
  /**
   * When each was last right, in milliseconds of a clock that only moves forward; the longest ago
   * first at both levels.
   */
  readonly #accounts = new Map<string, Map<string, number>>();

  /** True when this account's password was right from there within the last day. */
  has(account: string, address: string, nowMs: number): boolean {
    const rightMs = this.#accounts.get(account)?.get(address);
    return rightMs !== undefined && nowMs - rightMs < rememberedMs;
  }

  /** The account's password was right from there just now. */
  add(account: string, address: string, nowMs: number): void {
    const addresses = this.#accounts.get(account) ?? new Map<string, number>();
    addresses.delete(address);
    addresses.set(address, nowMs);
    if (addresses.size > addressesMax) dropOldest(addresses);
    this.#accounts.delete(account);
    this.#accounts.set(account, addresses);
    if (this.#accounts.size > accountsMax) dropOldest(this.#accounts);
  }
}

function dropOldest<V>(map: Map<string, V>): void {
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

const rememberedMs = 86_400_000;
const addressesMax = 64;
const accountsMax = 4096;
