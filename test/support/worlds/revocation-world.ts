/**
 * Revocation on a store of any kind beside the smallest model of it: a list of certificates, and
 * what was true when.
 */

import { sha256 } from "#core/crypto.ts";
import { parseSerial, type Serial, serialToBytes } from "#core/ids.ts";
import { addSeconds, type Instant } from "#core/time.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import { issuerOf } from "#domain/revocation/issuers.ts";
import type { Revocation } from "#domain/revocation/open.ts";
import { partitionNumber, rememberShards } from "#domain/revocation/scopes.ts";
import type { Store } from "#domain/store.ts";
import { type SmallCa, smallCaOn } from "./small-ca.ts";

/** A certificate as the model remembers it; `bare` is a serial nobody has issued. */
export interface Known {
  readonly serial: Serial;
  readonly kind: "leaf" | "public" | "ca" | "bare";
  readonly notAfter: Instant | undefined;
  /** The partition its distribution point names. */
  readonly namedShard: number | undefined;
  entry: Entry | undefined;
}

/** What is revoked or held, and by which change. */
export interface Entry {
  readonly at: Instant;
  readonly reason: RevocationReason;
  readonly sequence: number;
}

export type State = "good" | "held" | "revoked" | "expired" | "unknown";

/** Keeps one database, or none, through restarts. */
export interface Kept {
  open(): Promise<Store>;
  /** False where a restart keeps the store open, because it is nowhere else. */
  readonly durable: boolean;
}

/** One CA with its model. */
export class RevocationWorld {
  readonly known: Known[] = [];
  /** Every `crl.shards` there was. */
  readonly used = new Set<number>();
  /** The entries after each change, by its number in the revocation sequence. */
  readonly snapshots = new Map<number, ReadonlyMap<Serial, Entry>>([[0, new Map()]]);
  sequence = 0;
  shards = 0;
  #running: Revocation;

  private constructor(
    readonly small: SmallCa<Store>,
    private readonly current: Current,
    private readonly kept: Kept,
  ) {
    this.#running = small;
  }

  static async open(kept: Kept): Promise<RevocationWorld> {
    const current: Current = { store: await kept.open() };
    return new RevocationWorld(await smallCaOn(following(current)), current, kept);
  }

  get store(): Store {
    return this.current.store;
  }

  get running(): Revocation {
    return this.#running;
  }

  get now(): Instant {
    return this.small.clock.at;
  }

  close(): Promise<void> {
    return this.store.close();
  }

  /**
   * A new process over the same database, with another number of partitions, whose first job is to
   * renew.
   */
  async restart(shards: number): Promise<void> {
    if (this.kept.durable) {
      await this.store.close();
      this.current.store = await this.kept.open();
    }
    this.shards = shards;
    if (shards > 0) this.used.add(shards);
    await rememberShards(this.store, shards);
    this.#running = this.small.reopen({ shards, base_url: "http://crl.example" });
    await this.#running.refresh.renewals();
  }

  /** Stores a certificate as issuance does: with the URL of its partition in the same unit. */
  async issue(kind: Known["kind"], validitySeconds: number): Promise<void> {
    const serial = parseSerial(String(1000 + this.known.length * 7919));
    const leaf = kind === "leaf" || kind === "public";
    const namedShard = leaf && this.shards > 0 ? partitionOf(serial, this.shards) : undefined;
    const notAfter = kind === "bare" ? undefined : addSeconds(this.now, validitySeconds);
    this.known.push({ serial, kind, notAfter, namedShard, entry: undefined });
    if (notAfter === undefined) return;
    const profile = kind === "public" ? "public" : "server";
    const facts = { crlPartition: namedShard, spkiSha256: sha256(serialToBytes(serial)).toHex() };
    const row = { serial, profile, validitySeconds, facts };
    await this.small.issue({ ...row, kind: leaf ? "leaf" : "ca" });
    if (namedShard === undefined) return;
    const { id: caId } = this.small.ca;
    const url = `http://crl.example/api/ca/${caId}/crl/partition/${namedShard}`;
    await this.store.atomically((tx) =>
      tx.revocations.keepShardUrl({ caId, partition: namedShard, url, notAfter }),
    );
  }

  /** The row of the table a certificate is in. */
  stateOf({ entry, kind, notAfter }: Known): State {
    if (entry !== undefined) return entry.reason === "certificateHold" ? "held" : "revoked";
    if (kind === "bare") return "unknown";
    return this.now > (notAfter ?? 0) ? "expired" : "good";
  }

  /** Notes what a change made of some certificates, in the order they took their numbers. */
  note(changed: readonly Known[], reason: RevocationReason | undefined): void {
    for (const one of changed) {
      this.sequence++;
      one.entry = reason && { at: this.now, reason, sequence: this.sequence };
    }
    const entries = this.known.flatMap(({ serial, entry }) =>
      entry ? [[serial, entry] as const] : [],
    );
    this.snapshots.set(this.sequence, new Map(entries));
  }

  /** Whether a scope lists the certificate, by CRL-9 once more. */
  belongs({ serial, kind, namedShard }: Known, scope: string, modulus: number): boolean {
    const number = partitionNumber(scope);
    if (number === undefined) return true;
    if (kind === "ca") return false;
    if (kind === "bare")
      return [...this.used].some((count) => partitionOf(serial, count) === number);
    return namedShard === number || (modulus > 0 && partitionOf(serial, modulus) === number);
  }

  /** What OCSP says of a serial. */
  async ocsp(serial: Serial) {
    const { ca } = this.small;
    const issuer = { issuerName: issuerOf(ca).subject.der, issuerSpki: ca.spki };
    const question = encodeOcspRequest({ ...issuer, serial, hash: "sha1" });
    const { der } = await this.#running.ocsp.answer(ca.id, question);
    return parseOcspResponse(der).basic?.answers[0]?.status;
  }
}

/** The store that is open now. */
interface Current {
  store: Store;
}

/** A store that is always the one open now, for those who keep it through a restart. */
const following = (current: Current): Store =>
  new Proxy(current.store, {
    get: (_, name) => Reflect.get(current.store, name),
  });

/** CRL-8, in other words than the code under test. */
const partitionOf = (serial: Serial, count: number): number =>
  Number(BigInt(`0x${sha256(serialToBytes(serial)).toHex()}`) % BigInt(count));
