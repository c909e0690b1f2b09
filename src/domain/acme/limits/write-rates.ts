/**
 * Limits how often ACME clients store records that lead to no certificate: by account, by address,
 * and all new clients together.
 */

import { addressKey } from "#core/address-key.ts";
import { refuse } from "#core/problems.ts";
import { type BucketLimits, type Filling, TokenBuckets } from "#core/token-bucket.ts";
import type { AccountRecord } from "#domain/acme/store.ts";
import type { Origin } from "#domain/actor.ts";
import type { Clock } from "#domain/ports.ts";

/** Client that is about to store something. */
export interface AcmeWriter {
  readonly tenant: string;
  /** Address of the client, empty on the admin socket. */
  readonly ip: string;
  /** Undefined for a client that creates its account. */
  readonly account: Pick<AccountRecord, "id" | "idleSince"> | undefined;
}

/**
 * Token buckets for orders, authorizations, accounts and changes of accounts. Each of them is an
 * event that is stored permanently. An order that leads to a certificate is refunded, so that
 * clients which finish their orders are not slowed down.
 */
export class WriteRates {
  readonly #clock: Clock;
  readonly #perAccount = new TokenBuckets();
  readonly #perAddress = new TokenBuckets();
  readonly #newcomers = new TokenBuckets();
  readonly #reserved = new TokenBuckets();

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /**
   * Takes a token of the account and of the address.
   *
   * @throws {Problem} `rate_limited` with the seconds until the next token
   */
  admit({ tenant, ip, account }: AcmeWriter): void {
    const address = formatAddressKey(tenant, ip);
    const taken: (() => void)[] = [];
    const take = (tier: keyof typeof fillings, buckets: TokenBuckets, key: string): number => {
      const filling = fillings[tier];
      const wait = buckets.take(key, filling, this.#clock.now(), bucketLimits);
      if (wait === 0) taken.push(() => buckets.giveBack(key, filling));
      return wait;
    };
    const waits = [take("per_ip", this.#perAddress, address)];
    if (account !== undefined) waits.push(take("per_account", this.#perAccount, account.id));
    if (isNewcomer(account) && take("global", this.#newcomers, "") > 0) {
      // While attackers use up the common bucket, each address has a few tokens of its own.
      waits.push(take("reserved", this.#reserved, address));
    }
    const wait = Math.max(...waits);
    if (wait === 0) return;
    for (const undo of taken) undo();
    throw refuse("rate_limited", { tier: findTier(waits), retry_after: Math.ceil(wait) });
  }

  /** Returns the tokens of an order once it has led to a certificate. */
  refund(tenant: string, account: string, ip: string): void {
    this.#perAccount.giveBack(account, fillings.per_account);
    this.#perAddress.giveBack(formatAddressKey(tenant, ip), fillings.per_ip);
  }
}

/** Returns the account as a writer at the address of its request. */
export const toWriter = (account: AccountRecord, { ip }: Pick<Origin, "ip">) => ({
  tenant: account.tenant,
  ip,
  account,
});

/** Returns the key of an address in a tenant: no tenant takes the tokens of another. */
export const formatAddressKey = (tenant: string, ip: string): string =>
  `${tenant} ${addressKey(ip)}`;

/** True for a client that has no certificate and no credential. */
const isNewcomer = (account: AcmeWriter["account"]): boolean =>
  account === undefined || account.idleSince !== undefined;

function findTier([perAddress = 0, perAccount = 0]: readonly number[]): string {
  if (perAddress > 0) return "per_ip";
  return perAccount > 0 ? "per_account" : "global";
}

/** Tokens of each tier, rates per second. */
const fillings = {
  per_account: { rate: 0.1, burst: 1000 },
  per_ip: { rate: 1, burst: 5000 },
  global: { rate: 5, burst: 50_000 },
  reserved: { rate: 1 / 60, burst: 10 },
} as const satisfies Record<string, Filling>;
/** Buckets of each tier; after three idle hours a bucket is full again. */
const bucketLimits: BucketLimits = { maxKeys: 50_000, idleMs: 3 * 3_600_000 };
