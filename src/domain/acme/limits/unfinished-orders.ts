/**
 * Bounds the orders and authorizations that are stored without a certificate, by account and by
 * address (RFC 8555 §10.5).
 */

import { refuse } from "#core/problems.ts";
import { addSeconds, type Instant } from "#core/time.ts";
import type { AccountRecord } from "#domain/acme/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { type AcmeWriter, formatAddressKey } from "./write-rates.ts";

/** Order or authorization that is about to be stored. */
export interface UnfinishedRecord {
  readonly id: string;
  readonly kind: "order" | "authorization";
  /** Authorizations that are stored with it. */
  readonly authorizations: number;
}

export interface UnfinishedOrderDeps {
  readonly store: Pick<Store, "read" | "atomically">;
  readonly clock: Clock;
}

interface Entry extends Pick<UnfinishedRecord, "id" | "kind" | "authorizations"> {
  /** Account and address. */
  readonly holders: readonly Holder[];
  /** False until its transaction is committed. */
  stored: boolean;
}

/** Account or address with its entries. */
interface Holder {
  readonly key: string;
  readonly limits: HolderLimits;
  readonly entries: Map<string, Entry>;
  authorizations: number;
  /** Time before which another comparison with the store is not worth its cost. */
  fullUntil: Instant | undefined;
}

interface HolderLimits {
  readonly tier: "per_account" | "per_ip";
  readonly entries: number;
  readonly authorizations: number;
}

/**
 * Counts the records that this process has stored for each account and address. At its limit a
 * count is compared with the store: finished orders leave it, and ended ones are deleted. So a
 * client can continue after its orders have failed.
 */
export class UnfinishedOrders {
  readonly #deps: UnfinishedOrderDeps;
  /** In the order of their creation. */
  readonly #entries = new Map<string, Entry>();
  readonly #holders = new Map<string, Holder>();
  /** Authorizations of all entries. */
  #authorizations = 0;
  #searchedAt: Instant | undefined;

  constructor(deps: UnfinishedOrderDeps) {
    this.#deps = deps;
  }

  /** Accounts and addresses that are counted now. */
  get holders(): number {
    return this.#holders.size;
  }

  /**
   * Runs `store`, which stores the order or authorization, and counts it.
   *
   * @throws {Problem} `rate_limited` while the account or its address has too many of them. If all
   *   clients together have too many, clients with few are admitted still.
   */
  async add(
    { account, tenant, ip }: AcmeWriter & { readonly account: Pick<AccountRecord, "id"> },
    added: UnfinishedRecord,
    store: () => Promise<void>,
  ): Promise<void> {
    const keys = [
      [`account ${account.id}`, perAccount],
      [`address ${formatAddressKey(tenant, ip)}`, perAddress],
    ] as const;
    for (const [key] of keys) {
      const holder = this.#holders.get(key);
      if (holder !== undefined && !fits(holder, added)) await this.#compare(holder);
    }
    const isCrowded = () => this.#authorizations + added.authorizations > authorizationsMax;
    if (isCrowded()) await this.#compareHeaviest();
    // Without a pause between the check and the count, so that parallel requests count each other.
    const holders = keys.map(([key, limits]) => this.#findHolder(key, limits));
    const full = holders.find((holder) => !fits(holder, added));
    const isHeavy = holders.some((holder) => holder.authorizations >= fewAuthorizations);
    if (full !== undefined || (isCrowded() && isHeavy)) {
      for (const holder of holders) this.#dropEmpty(holder);
      const tier = full?.limits.tier ?? "global";
      throw refuse("rate_limited", { tier, retry_after: retrySeconds });
    }
    const entry = this.#count(added, holders);
    try {
      await store();
      entry.stored = true;
    } catch (error) {
      this.#drop(entry);
      throw error;
    }
  }

  /** Counts an order no longer, because it has led to a certificate. */
  finish(id: string): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined) this.#drop(entry);
  }

  #findHolder(key: string, limits: HolderLimits): Holder {
    const existing = this.#holders.get(key);
    if (existing !== undefined) return existing;
    const entries = new Map<string, Entry>();
    const holder: Holder = { key, limits, entries, authorizations: 0, fullUntil: undefined };
    this.#holders.set(key, holder);
    return holder;
  }

  #count({ id, kind, authorizations }: UnfinishedRecord, holders: readonly Holder[]): Entry {
    const [oldest] = this.#entries.values();
    if (this.#entries.size >= entriesMax && oldest !== undefined) this.#drop(oldest);
    const entry: Entry = { id, kind, authorizations, holders, stored: false };
    this.#entries.set(id, entry);
    this.#authorizations += authorizations;
    for (const holder of holders) {
      holder.entries.set(id, entry);
      holder.authorizations += authorizations;
    }
    return entry;
  }

  #drop(entry: Entry): void {
    if (!this.#entries.delete(entry.id)) return;
    this.#authorizations -= entry.authorizations;
    for (const holder of entry.holders) {
      holder.entries.delete(entry.id);
      holder.authorizations -= entry.authorizations;
      this.#dropEmpty(holder);
    }
  }

  #dropEmpty({ key, entries }: Holder): void {
    if (entries.size === 0) this.#holders.delete(key);
  }

  /** Compares the account or address with the most authorizations. */
  async #compareHeaviest(): Promise<void> {
    const now = this.#deps.clock.now();
    const last = this.#searchedAt;
    if (last !== undefined && last <= now && now < addSeconds(last, pauseSeconds)) return;
    this.#searchedAt = now;
    let heaviest: Holder | undefined;
    for (const holder of this.#holders.values()) {
      if (holder.authorizations > (heaviest?.authorizations ?? 0)) heaviest = holder;
    }
    if (heaviest !== undefined) await this.#compare(heaviest);
  }

  /** Drops finished orders, and deletes ended ones from the store, oldest first. */
  async #compare(holder: Holder): Promise<void> {
    const now = this.#deps.clock.now();
    const { fullUntil } = holder;
    if (fullUntil !== undefined && now < fullUntil && fullUntil <= addSeconds(now, pauseSeconds)) {
      return;
    }
    holder.fullUntil = addSeconds(now, pauseSeconds);
    const stored = [...holder.entries.values()].filter((entry) => entry.stored);
    for (let from = 0; from < stored.length; from += comparedPerQuery) {
      const slice = stored.slice(from, from + comparedPerQuery);
      const open = await this.#listOpen(slice, now);
      for (const entry of slice) if (!open.has(entry.id)) this.#drop(entry);
    }
    // A holder with free capacity is compared as soon as it is full again.
    if (holder.entries.size < holder.limits.entries / 2) holder.fullUntil = undefined;
  }

  /** Deletes ended records, and returns the ids of the records that still count. */
  async #listOpen(slice: readonly Entry[], now: Instant): Promise<ReadonlySet<string>> {
    const { read, atomically } = this.#deps.store;
    const selectIds = (kind: Entry["kind"]) =>
      slice.filter((entry) => entry.kind === kind).map(({ id }) => id);
    const orders = await read.acme.orderStates(selectIds("order"));
    const proofs = await read.acme.authorizations(selectIds("authorization"));
    const isOpenOrder = ({ status, expiresAt }: (typeof orders)[number]) =>
      status === "processing" || ((status === "pending" || status === "ready") && now < expiresAt);
    const isOpenProof = ({ status, expiresAt }: (typeof proofs)[number]) =>
      (status === "pending" || status === "valid") && now < expiresAt;
    const ended = [
      ...orders.filter((order) => order.status !== "valid" && !isOpenOrder(order)),
      ...proofs.filter((proof) => !isOpenProof(proof)),
    ].map(({ id }) => id);
    for (let from = 0; from < ended.length; from += discardedPerTransaction) {
      const part = ended.slice(from, from + discardedPerTransaction);
      await atomically((tx) => tx.acme.discardExpired(part, now));
    }
    const open = [...orders.filter(isOpenOrder), ...proofs.filter(isOpenProof)];
    return new Set(open.map(({ id }) => id));
  }
}

const fits = ({ limits, entries, authorizations }: Holder, added: UnfinishedRecord): boolean =>
  entries.size < limits.entries && authorizations + added.authorizations <= limits.authorizations;

/** An authorization with its challenges takes about 2 KiB, more with a long name. */
const perAccount: HolderLimits = { tier: "per_account", entries: 1000, authorizations: 5000 };
const perAddress: HolderLimits = { tier: "per_ip", entries: 5000, authorizations: 20_000 };
/** Limit of all clients, about 0.5 GB; clients with few authorizations are admitted beyond it. */
const authorizationsMax = 200_000;
const fewAuthorizations = 100;
/** Entries in memory; beyond them the oldest are no longer counted. */
const entriesMax = 50_000;
const comparedPerQuery = 100;
/** An order has up to 1,000 authorizations. */
const discardedPerTransaction = 10;
/** Between two comparisons of a holder that stays full. */
const pauseSeconds = 5;
const retrySeconds = 60;
