/**
 * Keeps copies of published CRLs for the time in which the database is unavailable, or lacks
 * acknowledged changes.
 */

import { type CaId, caId as idOfCa } from "#core/ids.ts";
import { assert } from "#core/problems.ts";
import { segmentOctets } from "#core/x509/crl-segments.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { CrlPublisher } from "./crl.ts";
import type { CrlScopes } from "./scopes.ts";
import type { CrlHead, CrlKind } from "./store.ts";

/** Files of this process that hold the bytes of CRLs. */
export interface CrlFiles {
  /** Writes a file as a whole, unless it exists. */
  write(name: string, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  /** Reads a file from a byte on; each chunk but the last has `chunkBytes`. */
  read(name: string, offset: number, chunkBytes: number): AsyncIterable<Uint8Array>;
  /** Removes every file that is not named. */
  removeOthers(names: ReadonlySet<string>): Promise<void>;
}

export interface CrlCopiesDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, "now">;
  readonly publisher: Pick<CrlPublisher, "newest" | "pieces">;
  readonly scopes: Pick<CrlScopes, "published">;
  /** Undefined if the database is a file of this host, which is available or fails with it. */
  readonly files: CrlFiles | undefined;
}

/** Copies of the newest lists of every CA. */
export class CrlCopies {
  readonly #deps: CrlCopiesDeps;
  readonly #heads = new Map<string, CrlHead>();
  /** CAs that have published since their lists were copied. */
  readonly #changed = new Set<CaId>();
  #isStarted = false;

  constructor(deps: CrlCopiesDeps) {
    this.#deps = deps;
  }

  /**
   * Copies the lists published since the last run, by any replica; at first all lists. The lists of
   * a database that lacks acknowledged changes replace no copy.
   */
  async refresh(): Promise<void> {
    const { files, store } = this.#deps;
    if (files === undefined || store.rollback() !== undefined) return;
    if (!this.#isStarted) await this.#start();
    if (this.#changed.size === 0) return;
    for (const ca of [...this.#changed]) {
      this.#changed.delete(ca);
      try {
        await this.#copy(ca, files);
      } catch (error) {
        this.#changed.add(ca);
        throw error;
      }
    }
    await files.removeOthers(new Set([...this.#heads.values()].map(({ sha256 }) => sha256)));
  }

  /** Finds the copy of a list that is valid now; of a delta only with the base it is for. */
  find(ca: CaId, scope: string, kind: CrlKind): CrlHead | undefined {
    const base = this.#findValid(ca, scope, "base");
    if (kind === "base") return base;
    const delta = this.#findValid(ca, scope, "delta");
    return base !== undefined && delta?.base === base.number ? delta : undefined;
  }

  /** Returns the DER of a copy in chunks as `CrlPublisher.pieces` does, from one of them on. */
  async *readChunks(crl: CrlHead, from = 0): AsyncGenerator<Uint8Array> {
    const { files } = this.#deps;
    assert(files !== undefined, "a copy is a file");
    yield* files.read(crl.sha256, from * segmentOctets, segmentOctets);
  }

  async #start(): Promise<void> {
    const { store } = this.#deps;
    // First the events: a list published while the CAs are read is copied by the next run.
    store.onEvents((events) => {
      for (const { action, caId } of events) {
        if (action === "crl.publish" && caId !== "") this.#changed.add(idOfCa(caId));
      }
    });
    this.#isStarted = true;
    for (const { id } of await store.read.cas.signing()) this.#changed.add(id);
  }

  async #copy(ca: CaId, files: CrlFiles): Promise<void> {
    const { publisher, scopes } = this.#deps;
    for (const scope of await scopes.published(ca)) {
      const { base, delta } = await publisher.newest(ca, scope);
      for (const head of [base, delta]) {
        if (head === undefined) continue;
        await files.write(head.sha256, publisher.pieces(head));
        this.#heads.set(formatKey(head), head);
      }
    }
  }

  #findValid(ca: CaId, scope: string, kind: CrlKind): CrlHead | undefined {
    const head = this.#heads.get(`${ca}/${scope}/${kind}`);
    const now = this.#deps.clock.now();
    return head !== undefined && head.thisUpdate <= now && now < head.nextUpdate ? head : undefined;
  }
}

const formatKey = ({ caId, scope, base }: CrlHead): string =>
  `${caId}/${scope}/${base === undefined ? "base" : "delta"}`;
