/**
 * Publishes what relying parties fetch, so that it can be had while pkid is down (PUB-1 to PUB-4).
 */

import type { CaId, Serial } from "#core/ids.ts";
import { type Problem, refuse } from "#core/problems.ts";
import type { Manifest } from "#core/publishing/manifest.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Random } from "#domain/ports.ts";
import { systemOrigin } from "#domain/revocation/system-origin.ts";
import type { Store } from "#domain/store.ts";
import {
  type ArtefactDeps,
  answerPath,
  answersAbout,
  type ChangedSerial,
  keyOf,
  publishedLists,
  publishes,
  timeName,
} from "./artefacts.ts";
import { Assembly } from "./assembly.ts";
import { type PublishTarget, TargetFault } from "./target.ts";

export interface PublishingDeps extends ArtefactDeps {
  readonly random: Pick<Random, "bytes">;
  /** Where the schedule publishes; undefined while `publish.enabled` is false. */
  readonly target: PublishTarget | undefined;
  /** Opens a directory asked for by path. */
  readonly directory: (path: string) => PublishTarget;
  readonly publish: {
    /** Ids or labels, each standing for its lineage; empty for all. */
    readonly cas: readonly string[];
    readonly include_ocsp: boolean;
  };
  /** Changed serials remembered at a time; with more a run over everything follows. */
  readonly changedMax: number;
}

/** What one run is asked for. */
export interface PublishRequest {
  /** One CA; the artefacts of the others stay as they are published. */
  readonly ca?: CaId | undefined;
  /** An absolute path in place of the configured target. */
  readonly out?: string | undefined;
  readonly skipOcsp?: boolean | undefined;
}

export interface PublishReport {
  readonly target: "dir" | "s3";
  readonly artefacts: number;
  readonly earliestExpiry: Instant | undefined;
}

/** Snapshots of everything, and of what changed, one at a time. */
export class Publishing {
  readonly #deps: PublishingDeps;
  #last: Promise<unknown> = Promise.resolve();
  /**
   * What the configured target has, and up to which revocation its answers go; undefined before the
   * first run.
   */
  #published: { readonly manifest: Manifest; readonly sequence: number } | undefined;
  /** Changed serials whose answers are not published yet, by CA and serial. */
  readonly #changed = new Map<string, ChangedSerial>();
  /**
   * Set while more serials have changed than are remembered, so that only a run over everything
   * covers them all.
   */
  #overflow: { readonly rowsThen: number; readonly rowsLast: number } | undefined;

  constructor(deps: PublishingDeps) {
    this.#deps = deps;
  }

  /**
   * One snapshot of everything. Refuses `feature_disabled` without a target, `unprocessable` when
   * the target does not take it. A CA whose lists cannot be signed keeps what is published of it,
   * and its problem is thrown at the end.
   */
  run(origin: Origin, request: PublishRequest = {}): Promise<PublishReport> {
    return this.#alone(async () => {
      const own = request.out === undefined;
      const target = own ? this.#deps.target : this.#deps.directory(request.out);
      if (target === undefined) throw refuse("feature_disabled", { feature: "publish" });
      const all = this.#deps.publish.include_ocsp && request.skipOcsp !== true;
      const made = await this.#snapshot(origin, target, {
        answers: all ? "all" : "none",
        ca: request.ca,
      });
      if (own && request.ca === undefined) this.#settle(made);
      if (made.failure !== undefined) throw made.failure;
      return reportOf(target, made.manifest);
    });
  }

  /**
   * Publishes lists that were signed and answers that changed since the last snapshot; does nothing
   * when none were. Refuses as `run`.
   */
  async changed(): Promise<void> {
    const { target } = this.#deps;
    if (target === undefined) return;
    await this.#alone(async () => {
      const before = this.#published;
      if (before === undefined) return;
      const sequence = await this.#deps.store.read.revocations.sequence();
      if (this.#deps.publish.include_ocsp) await this.#note(before.sequence);
      this.#published = { ...before, sequence };
      if (await this.#everythingIsDue()) {
        await this.#runFully(target);
        return;
      }
      if (
        !(await this.#listsChanged(before.manifest)) &&
        !(await this.#answersWait(before.manifest))
      )
        return;
      const answers = this.#deps.publish.include_ocsp ? [...this.#changed.values()] : "none";
      const made = await this.#snapshot(systemOrigin("publish"), target, {
        answers,
        ca: undefined,
      });
      this.#published = { manifest: made.manifest, sequence };
      for (const key of made.answered) this.#changed.delete(key);
      if (made.failure !== undefined) throw made.failure;
    });
  }

  /** After a run over everything only what has no answer yet is waited for. */
  #settle(made: Made): void {
    this.#published = made;
    this.#overflow = undefined;
    const paths = new Set(made.manifest.artefacts.map(({ path }) => path));
    for (const [key, { ca, serial }] of this.#changed) {
      if (paths.has(answerPath(ca, serial))) this.#changed.delete(key);
    }
  }

  /**
   * True at once when more has changed than is remembered, and again when the answers signed since
   * have all come.
   */
  async #everythingIsDue(): Promise<boolean> {
    const overflow = this.#overflow;
    if (overflow === undefined) return false;
    const { count } = await this.#deps.store.read.presigned.summary();
    this.#overflow = { ...overflow, rowsLast: count };
    return overflow.rowsThen < 0 || (count > overflow.rowsThen && count === overflow.rowsLast);
  }

  async #runFully(target: PublishTarget): Promise<void> {
    const request = { answers: "all", ca: undefined } as const;
    const { count } = await this.#deps.store.read.presigned.summary();
    const made = await this.#snapshot(systemOrigin("publish"), target, request);
    this.#settle(made);
    this.#overflow = { rowsThen: count, rowsLast: count };
    if (made.failure !== undefined) throw made.failure;
  }

  /** Runs follow each other: the next one builds on the snapshot of the one before. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work, work);
    this.#last = next.catch(() => {}); // Whoever asked for it is told.
    return next;
  }

  async #snapshot(
    origin: Origin,
    target: PublishTarget,
    request: {
      readonly answers: "all" | "none" | readonly ChangedSerial[];
      readonly ca: CaId | undefined;
    },
  ): Promise<Made> {
    const { clock, random, store } = this.#deps;
    const began = clock.now();
    const sequence = await store.read.revocations.sequence();
    try {
      const previous = await target.previous();
      // Where nothing is published there is nothing to keep.
      const answers =
        previous === undefined && Array.isArray(request.answers) ? "all" : request.answers;
      const name = `${timeName(began)}-${random.bytes(3).toHex()}`;
      const snapshot = await target.begin(name, previous);
      const assembly = new Assembly({
        ...this.#deps,
        snapshot,
        previous,
        concurrency: target.concurrency,
      });
      const put = async () => {
        for (const ca of await this.#cas()) {
          if (request.ca !== undefined && ca.id !== request.ca) await assembly.keepCa(ca);
          else await assembly.addCa(ca, answers);
        }
        const complete = assembly.manifest(began);
        await snapshot.publish(complete);
        return complete;
      };
      const manifest = await put().catch(async (error) => {
        await snapshot.abandon();
        throw error;
      });
      const { failure, answered } = assembly;
      await this.#record(origin, target, manifest, failure, request.ca);
      return { manifest, sequence, answered, failure };
    } catch (error) {
      throw error instanceof TargetFault ? refusalOf(error) : error;
    }
  }

  /** The CAs to publish, each with its whole lineage. */
  async #cas(): Promise<readonly CaRecord[]> {
    const { store, clock, publish } = this.#deps;
    const only = publish.cas;
    const all = (await store.read.cas.signing()).filter((ca) => publishes(ca, clock.now()));
    if (only.length === 0) return all;
    const named = all.filter(({ id, label }) => only.includes(id) || only.includes(label));
    const lineages = new Set(named.map(({ lineage }) => lineage));
    return all.filter(({ lineage }) => lineages.has(lineage));
  }

  async #listsChanged(manifest: Manifest): Promise<boolean> {
    const digests = new Map(manifest.artefacts.map(({ path, sha256 }) => [path, sha256]));
    for (const ca of await this.#cas()) {
      for (const [path, sha256] of await publishedLists(this.#deps, ca)) {
        if (digests.get(path) !== sha256) return true;
      }
    }
    return false;
  }

  /** Remembers every serial that changed after a number of the revocation sequence. */
  async #note(afterSequence: number): Promise<void> {
    const { revocations } = this.#deps.store.read;
    for (const ca of await this.#cas()) {
      const note = (page: readonly { readonly serial: Serial; readonly sequence: number }[]) => {
        for (const { serial } of page) this.#remember({ ca: ca.id, serial });
        return page.length < pageRows ? undefined : page.at(-1)?.sequence;
      };
      await revocations.view(async (view) => {
        for (let after: number | undefined = afterSequence; after !== undefined; )
          after = note(await view.changed(ca.id, pageRows, after));
        for (let after: number | undefined = afterSequence; after !== undefined; )
          after = note(await view.released(ca.id, pageRows, after));
      });
    }
  }

  /**
   * What is forgotten here keeps its old answer until a run over everything, which is due at once
   * then.
   */
  #remember(changed: ChangedSerial): void {
    this.#changed.set(keyOf(changed), changed);
    const oldest = this.#changed.keys().next().value;
    if (this.#changed.size <= this.#deps.changedMax || oldest === undefined) return;
    this.#changed.delete(oldest);
    this.#overflow = { rowsThen: -1, rowsLast: -1 };
  }

  /** True when a changed serial has a new answer, or an old one that must go. */
  async #answersWait({ artefacts }: Manifest): Promise<boolean> {
    if (this.#changed.size === 0) return false;
    const paths = new Set(artefacts.map(({ path }) => path));
    const cas = new Map((await this.#cas()).map((ca) => [ca.id, ca]));
    for (const { ca: id, serial } of this.#changed.values()) {
      const ca = cas.get(id);
      if (ca === undefined) continue;
      if (paths.has(answerPath(id, serial))) return true;
      if ((await answersAbout(this.#deps, ca, serial)).length > 0) return true;
    }
    return false;
  }

  async #record(
    origin: Origin,
    target: PublishTarget,
    manifest: Manifest,
    failure: unknown,
    ca: CaId | undefined,
  ): Promise<void> {
    const { store, clock } = this.#deps;
    const { artefacts, earliestExpiry } = manifest;
    const now = clock.now();
    const result = failure === undefined ? "success" : "error";
    const expiry = earliestExpiry === undefined ? undefined : timestamp(earliestExpiry);
    const detail = { target: target.name, artifacts: artefacts.length, earliest_expiry: expiry };
    const last = { at: now, result, ...detail };
    const author = authorOf(origin, undefined);
    const event = {
      ...author,
      action: "publish.run",
      result,
      detail,
      caId: ca,
      target: ca,
    } as const;
    await store.atomically(async (tx) => {
      await tx.instance.setValue(lastPublication, JSON.stringify(last));
      await tx.audit.appendEvent(event, now);
    });
  }
}

/** What a snapshot came to. */
interface Made {
  readonly manifest: Manifest;
  /** Up to which revocation its answers go. */
  readonly sequence: number;
  /** The changed serials whose new answers are in it. */
  readonly answered: readonly string[];
  /**
   * Why the lists of a CA are those published before; for who asked, after what is published is
   * known.
   */
  readonly failure: unknown;
}

/** When the last snapshot was made and whether it has every list; undefined before the first. */
export async function lastPublicationOf(
  store: Pick<Store, "read">,
): Promise<{ readonly at: Instant; readonly result: "success" | "error" } | undefined> {
  const text = await store.read.instance.value(lastPublication);
  return text === undefined ? undefined : JSON.parse(text); // Written by the class above.
}

const lastPublication = "publish_last";

const reportOf = (
  target: PublishTarget,
  { artefacts, earliestExpiry }: Manifest,
): PublishReport => ({
  target: target.name,
  artefacts: artefacts.length,
  earliestExpiry,
});

const refusalOf = ({ message }: TargetFault): Problem =>
  refuse("unprocessable", { reason: message }, message);

const pageRows = 1000;
