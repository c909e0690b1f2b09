/**
 * Puts one snapshot together: what is new is written, what is unchanged is kept, no list goes back
 * to an older number.
 */

import { Problem } from "#core/problems.ts";
import {
  type Artefact,
  type Manifest,
  manifestOf,
  type PublishedCa,
} from "#core/publishing/manifest.ts";
import type { Instant } from "#core/time.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import {
  type ArtefactDeps,
  answerPaths,
  answersAbout,
  answersOf,
  type ChangedSerial,
  certificatesOf,
  isOf,
  keyOf,
  listsOf,
  type Publishable,
} from "./artefacts.ts";
import { type Snapshot, TargetFault } from "./target.ts";

export interface AssemblyDeps extends ArtefactDeps {
  readonly snapshot: Snapshot;
  /** What is published now, to be built upon. */
  readonly previous: Manifest | undefined;
  readonly concurrency: number;
}

/** One snapshot under way. */
export class Assembly {
  readonly #deps: AssemblyDeps;
  readonly #previous: ReadonlyMap<string, Artefact>;
  readonly #artefacts: Artefact[] = [];
  readonly #cas: CaRecord[] = [];
  readonly #paths = new Set<string>();
  readonly #answered: string[] = [];
  #failure: unknown;
  #thorough = false;

  constructor(deps: AssemblyDeps) {
    this.#deps = deps;
    this.#previous = new Map(deps.previous?.artefacts.map((one) => [one.path, one]));
  }

  /** Why the lists of a CA could not be had, the first one met. */
  get failure(): unknown {
    return this.#failure;
  }

  /** The changed serials whose new answers are in the snapshot. */
  get answered(): readonly string[] {
    return this.#answered;
  }

  /** Takes over everything that is published of a CA. */
  async keepCa(ca: CaRecord): Promise<void> {
    this.#cas.push(ca);
    await this.#keep((artefact) => isOf(ca, artefact));
  }

  /**
   * Adds everything of a CA; of its answers all there are, none, or in place of those about the
   * changed serials.
   */
  async addCa(ca: CaRecord, answers: "all" | "none" | readonly ChangedSerial[]): Promise<void> {
    this.#cas.push(ca);
    this.#thorough = answers === "all";
    await this.#add(await certificatesOf(this.#deps, ca));
    try {
      await this.#add(await listsOf(this.#deps, ca));
    } catch (error) {
      // One CA whose key is away must not keep the others from being published; its lists stay
      // while they are good.
      if (!(error instanceof Problem)) throw error;
      this.#failure ??= error;
      await this.#keep((one) => isOf(ca, one) && one.crlNumber !== undefined && this.#isNew(one));
    }
    if (answers === "all") {
      for await (const page of answersOf(this.#deps, ca)) await this.#add(page);
    } else if (answers !== "none") await this.#addChanged(ca, answers);
  }

  /** The manifest of what has been added and kept. */
  manifest(generatedAt: Instant): Manifest {
    const artefacts = this.#artefacts.sort((a, b) => (a.path < b.path ? -1 : 1));
    const cas = this.#cas.map((ca) => publishedCa(ca, artefacts));
    return manifestOf({ generatedAt, cas, artefacts });
  }

  async #addChanged(ca: CaRecord, changed: readonly ChangedSerial[]): Promise<void> {
    const paths = answerPaths(ca);
    const own = changed.filter((one) => one.ca === ca.id);
    const replaced = new Set(own.flatMap(({ serial }) => Object.values(paths(serial))));
    const now = this.#deps.clock.now();
    await this.#keep(
      (one) =>
        isOf(ca, one) && one.kind === "ocsp" && !replaced.has(one.path) && one.notAfter > now,
    );
    for (const one of own) {
      const fresh = await answersAbout(this.#deps, ca, one.serial);
      await this.#add(fresh);
      if (fresh.length > 0) this.#answered.push(keyOf(one));
    }
  }

  async #add(all: readonly Publishable[]): Promise<void> {
    await this.#inLanes(all, async ({ artefact, octets }) => {
      const before = this.#previous.get(artefact.path);
      const newer = before !== undefined && (before.crlNumber ?? 0) > (artefact.crlNumber ?? 0);
      const wanted = newer ? before : artefact;
      const same = before?.sha256 === wanted.sha256 && (await this.#kept(wanted));
      if (!same && newer)
        throw new TargetFault(`A newer ${artefact.path} is published than this instance has.`);
      if (!same) await this.#deps.snapshot.write(artefact, octets());
      this.#take(wanted);
    });
  }

  async #keep(which: (artefact: Artefact) => boolean): Promise<void> {
    const all = [...this.#previous.values()].filter(which);
    await this.#inLanes(all, async (artefact) => {
      // What somebody removed from the target is made again by the next run over everything.
      if (await this.#kept(artefact)) this.#take(artefact);
    });
  }

  /**
   * Answers are many, and looked at octet by octet only by a run over all of them; everything else
   * always is.
   */
  async #kept(artefact: Artefact): Promise<boolean> {
    const look = artefact.kind === "ocsp" && !this.#thorough ? "size" : "whole";
    return await this.#deps.snapshot.keep(artefact, look);
  }

  #isNew({ path }: Artefact): boolean {
    return !this.#paths.has(path);
  }

  #take(artefact: Artefact): void {
    this.#artefacts.push(artefact);
    this.#paths.add(artefact.path);
  }

  async #inLanes<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
    const waiting = all.values();
    const lane = async () => {
      for (const one of waiting) await work(one);
    };
    await Promise.all(Array.from({ length: this.#deps.concurrency }, lane));
  }
}

function publishedCa(ca: CaRecord, artefacts: readonly Artefact[]): PublishedCa {
  const own = artefacts.filter((one) => isOf(ca, one));
  return {
    id: ca.id,
    label: ca.label,
    ocspResponses: own.filter(({ kind }) => kind === "ocsp").length,
    crlShards: own.filter(({ path }) => /\/crl-partition-\d+\.der$/.test(path)).length,
  };
}
