/**
 * Which CRLs a CA has, where certificates look for each, and which of them an entry belongs on
 * (CRL-1, CRL-9).
 */

import type { CaId } from "#core/ids.ts";
import { crlUrlOf } from "#core/policy/certificate-extensions.ts";
import { refuse } from "#core/problems.ts";
import { partitionOf } from "#core/x509/partitions.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { RevocationSections } from "./sections.ts";
import type { EntryPlace, Partition } from "./store.ts";

/** The scope that lists everything. */
export const fullScope = "full";

/** The name of a partition's scope, as ledger, events and answers say it. */
export const partitionScope = (number: number): string => `${partitionPrefix}${number}`;

/** The number in a scope's name; undefined for the full scope. */
export const partitionNumber = (scope: string): number | undefined =>
  scope.startsWith(partitionPrefix) ? Number(scope.slice(partitionPrefix.length)) : undefined;

interface Deps {
  readonly store: Pick<Store, "read">;
  readonly clock: Pick<Clock, "now">;
  /** Below 2 shards there are no partitions; without a base certificates name no CRL. */
  readonly config: { readonly crl: Pick<RevocationSections["crl"], "shards" | "base_url"> };
}

/** The scopes of every CA of one instance. */
export class CrlScopes {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** `crl.shards` where it makes partitions, else 0. */
  get shards(): number {
    const { shards } = this.#deps.config.crl;
    return shards < 2 ? 0 : shards;
  }

  /**
   * The full scope, the partitions that are, and those that valid certificates still name (CRL-11).
   */
  async all(ca: CaId): Promise<readonly string[]> {
    const { store, clock } = this.#deps;
    const shardUrls = await store.read.revocations.shardUrls(ca, clock.now());
    const named = shardUrls.map(({ partition }) => partition);
    const current = Array.from({ length: this.shards }, (_, number) => number);
    const numbers = [...new Set([...current, ...named])].sort((a, b) => a - b);
    return [fullScope, ...numbers.map(partitionScope)];
  }

  /**
   * Those of them that have a base. What was published before `crl.shards` shrank stays in the
   * store, and is nobody's.
   */
  async published(ca: CaId): Promise<readonly string[]> {
    const served = new Set(await this.all(ca));
    const published = await this.#deps.store.read.revocations.publishedScopes(ca);
    return published.filter((scope) => served.has(scope));
  }

  /** The scope of a partition as asked for. Refuses `bad_partition` for one that is not served. */
  async named(ca: CaId, asked: string): Promise<string> {
    const number = /^(0|[1-9][0-9]{0,3})$/.test(asked) ? Number(asked) : undefined;
    if (number === undefined) throw this.#badPartition();
    if (number < this.shards) return partitionScope(number);
    const { store, clock } = this.#deps;
    const shardUrls = await store.read.revocations.shardUrls(ca, clock.now());
    if (shardUrls.some(({ partition }) => partition === number)) return partitionScope(number);
    throw this.#badPartition();
  }

  /**
   * Up to which number of the revocation sequence every published base of a CA covers it, of those
   * that are served.
   */
  async covered(ca: CaId): Promise<number> {
    const { revocations } = this.#deps.store.read;
    let least = Number.POSITIVE_INFINITY;
    for (const scope of await this.published(ca)) {
      const head = await revocations.crlHead(ca, scope, "base");
      least = Math.min(least, head?.sequence ?? 0);
    }
    return least === Number.POSITIVE_INFINITY ? 0 : least;
  }

  /**
   * The scopes that list what changed after a number of the revocation sequence, each with its
   * latest change.
   */
  async touched(ca: CaId, afterSequence: number): Promise<ReadonlyMap<string, number>> {
    const everUsed = await this.everUsed();
    const latest = new Map<string, number>();
    const note = (changes: readonly (EntryPlace & { readonly sequence: number })[]) => {
      for (const change of changes) {
        for (const scope of scopesOf(change, this.shards, everUsed)) {
          latest.set(scope, Math.max(change.sequence, latest.get(scope) ?? 0));
        }
      }
      return changes.length < pageSize ? undefined : changes.at(-1)?.sequence;
    };
    await this.#deps.store.read.revocations.view(async (view) => {
      for (let after: number | undefined = afterSequence; after !== undefined; ) {
        after = note(await view.changed(ca, pageSize, after));
      }
      for (let after: number | undefined = afterSequence; after !== undefined; ) {
        after = note(await view.released(ca, pageSize, after));
      }
    });
    return latest;
  }

  /** The partition of a scope, its number meant under today's `crl.shards`. */
  partition(scope: string): Partition | undefined {
    const number = partitionNumber(scope);
    return number === undefined ? undefined : { number, modulus: this.shards };
  }

  /** Where the CRL of a scope is for certificates made today; undefined without a URL base. */
  url(ca: CaId, scope: string): string | undefined {
    const { base_url } = this.#deps.config.crl;
    return base_url && crlUrlOf(base_url, ca, partitionNumber(scope));
  }

  /**
   * Today's URL of a partition, and every other one in a certificate that is still valid (CRL-10).
   */
  async urls(ca: CaId, scope: string): Promise<readonly string[]> {
    const number = partitionNumber(scope);
    if (number === undefined) return [];
    const { store, clock } = this.#deps;
    const shardUrls = await store.read.revocations.shardUrls(ca, clock.now());
    const named = shardUrls.filter(({ partition }) => partition === number).map(({ url }) => url);
    return [...new Set([...(this.url(ca, scope) ? [this.url(ca, scope) ?? ""] : []), ...named])];
  }

  /** Every `crl.shards` there ever was. */
  async everUsed(): Promise<readonly number[]> {
    return await shardsEverUsed(this.#deps.store);
  }

  #badPartition() {
    return refuse("bad_partition", { shard_count: this.shards });
  }
}

/**
 * Remembers a `crl.shards` for good, before the first certificate is spread over that many
 * partitions: a serial nobody knows counts under every number there ever was (CRL-9).
 */
export async function rememberShards(
  store: Pick<Store, "read" | "atomically">,
  shards: number,
): Promise<void> {
  if (shards < 2 || (await shardsEverUsed(store)).includes(shards)) return;
  await store.atomically(async (tx) => {
    const used = new Set([...(await shardsEverUsed(store)), shards]);
    await tx.instance.setValue(usedKey, [...used].join(","));
  });
}

async function shardsEverUsed({ read }: Pick<Store, "read">): Promise<readonly number[]> {
  const text = (await read.instance.value(usedKey)) ?? "";
  return text === "" ? [] : text.split(",").map(Number);
}

/**
 * Where the index puts an entry under one modulus: modulus 0 when it belongs there whatever
 * `crl.shards` is. Certificates of CAs and responders are on no partition (CRL-9).
 */
export function memberships(
  { serial, kind, namedShard }: EntryPlace,
  modulus: number,
  everUsed: readonly number[],
): readonly Partition[] {
  if (kind === "ca" || kind === "cross" || kind === "responder") return [];
  if (kind === undefined) {
    const numbers = new Set(everUsed.map((count) => partitionOf(serial, count)));
    return [...numbers].map((number) => ({ number, modulus: 0 }));
  }
  const current = modulus === 0 ? [] : [{ number: partitionOf(serial, modulus), modulus }];
  if (namedShard === undefined) return current;
  return [
    { number: namedShard, modulus: 0 },
    ...current.filter(({ number }) => number !== namedShard),
  ];
}

/** The scopes an entry is listed by. */
export const scopesOf = (
  place: EntryPlace,
  shards: number,
  everUsed: readonly number[],
): readonly string[] => {
  const partitions = memberships(place, shards, everUsed);
  return [fullScope, ...new Set(partitions.map(({ number }) => partitionScope(number)))];
};

/** True when an entry is listed by a scope: everything is on the full one. */
export function belongs(
  place: EntryPlace,
  partition: Partition | undefined,
  everUsed: readonly number[],
): boolean {
  if (partition === undefined) return true;
  const places = memberships(place, partition.modulus, everUsed);
  return places.some(({ number }) => number === partition.number);
}

const pageSize = 1000;
const partitionPrefix = "partition-";
const usedKey = "crl_shards_used";
