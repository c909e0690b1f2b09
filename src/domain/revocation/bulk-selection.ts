/**
 * Finds what a bulk revocation means, a slice of the inventory at a time, and counts what it passes
 * over.
 */

import type { CaId, Serial } from "#core/ids.ts";
import {
  predicateOf,
  type SelectableState,
  type Selection,
  verdictOf,
} from "#core/policy/selection.ts";
import type { Instant } from "#core/time.ts";
import { assert } from "#core/problems.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { CertificateReads } from "#domain/certificates/store.ts";
import type { BulkRevocationReads, Candidate, RunSerial } from "./bulk-store.ts";
import { certificateState, isHoldable } from "./transitions.ts";

/** What a run is to look for. */
export interface Wanted {
  /** Every CA of the lineage, the one that the order names first. */
  readonly lineage: readonly CaRecord[];
  readonly selection: Selection;
  readonly hold: boolean;
  /** The moment that decides what has expired. */
  readonly now: Instant;
  readonly holdPermitted: (profile: string) => boolean;
}

/** One of the first that would change. */
export interface Sample {
  readonly caId: CaId;
  readonly serial: Serial;
  readonly commonName: string;
  readonly profile: string;
  readonly notAfter: Instant | undefined;
  readonly known: boolean;
}

export interface ProfileCount {
  readonly profile: string;
  readonly count: number;
}

/** The figures of a plan; `total` is what would change. */
export interface Tally {
  readonly total: number;
  readonly known: number;
  readonly unknown: number;
  readonly held: number;
  readonly alreadyRevoked: number;
  readonly filteredOut: number;
  readonly expiredExcluded: number;
  readonly sample: readonly Sample[];
  /** Of the known ones that would change: how many there are of each profile, most first. */
  readonly profiles: readonly ProfileCount[];
  /** The first unknown serials, which no hold can take. */
  readonly unknownSerials: readonly Serial[];
}

/** Serials of one slice that would change, or that a hold taken off meanwhile would let change. */
export type OnSlice = (serials: readonly RunSerial[]) => Promise<void>;

type Reads = Pick<BulkRevocationReads, "candidates" | "named" | "bare">;

/** Reads that find serials which a caller names. */
export interface NamedReads {
  readonly bulkRevocations: Pick<Reads, "named" | "bare">;
  readonly certificates: Pick<CertificateReads, "findIntended">;
}

/** One look at the inventory, kept up to date by later looks at what came after it. */
export class Selecting {
  readonly #wanted: Wanted;
  readonly #matches: (candidate: Candidate) => boolean;
  readonly #figures = {
    known: 0,
    unknown: 0,
    held: 0,
    alreadyRevoked: 0,
    filteredOut: 0,
    expiredExcluded: 0,
  };
  readonly #sample: Sample[] = [];
  readonly #profiles = new Map<string, number>();
  readonly #unknown: Serial[] = [];

  constructor(wanted: Wanted) {
    this.#wanted = wanted;
    this.#matches = predicateOf(wanted.selection);
  }

  get tally(): Tally {
    const { known, unknown } = this.#figures;
    const figures = { ...this.#figures, total: known + unknown };
    const profiles = [...this.#profiles]
      .map(([profile, count]) => ({ profile, count }))
      .sort((a, b) => b.count - a.count || (a.profile < b.profile ? -1 : 1));
    return { ...figures, sample: this.#sample, profiles, unknownSerials: this.#unknown };
  }

  /**
   * Selects leaves of the lineage that are stored at positions above `after` up to `upTo`, unless
   * the selection names serials.
   */
  async stored(reads: Pick<Reads, "candidates">, after: number, upTo: number, found: OnSlice) {
    const { lineage, selection } = this.#wanted;
    if (selection.serials !== undefined) return;
    for (const { id: caId } of lineage) {
      for await (const items of storedSlices(reads, caId, selection, { after, upTo })) {
        const serials = items.flatMap((candidate) => this.#take(candidate, caId, false));
        await found(serials.map((serial) => ({ caId, serial })));
      }
    }
  }

  /**
   * Selects the serials that the caller names: certificates of any kind and of any CA, and
   * serials without a certificate.
   */
  async named(reads: NamedReads, found: OnSlice): Promise<void> {
    for (const slice of slicesOf(this.#wanted.selection.serials ?? [])) {
      const issued = await this.#issued(reads, slice);
      const selected: RunSerial[] = [];
      for (const [caId, serials] of await this.#groupByCa(reads, slice, issued)) {
        const open = serials.filter((serial) => !issued.has(serial));
        const bare = await reads.bulkRevocations.bare(caId, open);
        for (const serial of serials) {
          const candidate = issued.get(serial)?.candidate;
          const selects =
            candidate === undefined
              ? this.#takeUnknown(serial, caId, bare.get(serial))
              : this.#take(candidate, caId, true);
          selected.push(...selects.map((one) => ({ caId, serial: one })));
        }
      }
      await found(selected);
    }
  }

  /** Finds the certificates with these serials; one of an earlier CA takes precedence. */
  async #issued({ bulkRevocations }: NamedReads, slice: readonly Serial[]) {
    const issued = new Map<Serial, { readonly caId: CaId; readonly candidate: Candidate }>();
    for (const { id: caId } of this.#wanted.lineage) {
      const left = slice.filter((serial) => !issued.has(serial));
      if (left.length === 0) break;
      for (const candidate of await bulkRevocations.named(caId, left)) {
        issued.set(candidate.serial, { caId, candidate });
      }
    }
    return issued;
  }

  /**
   * Groups serials by the CA whose key they concern: the one that has issued or intended them,
   * otherwise the one that the order names (ROL-3).
   */
  async #groupByCa(
    { certificates }: NamedReads,
    slice: readonly Serial[],
    issued: ReadonlyMap<Serial, { readonly caId: CaId }>,
  ): Promise<ReadonlyMap<CaId, readonly Serial[]>> {
    const [named, ...others] = this.#wanted.lineage;
    assert(named !== undefined, "a lineage has the CA that the order names");
    const cas = new Map<Serial, CaId>();
    for (const serial of slice) cas.set(serial, issued.get(serial)?.caId ?? named.id);
    const open = others.length === 0 ? [] : slice.filter((serial) => !issued.has(serial));
    if (open.length > 0) {
      const taken = await certificates.findIntended(named.id, open);
      for (const { id } of others) {
        for (const serial of await certificates.findIntended(id, open)) {
          if (!taken.has(serial)) cas.set(serial, id);
        }
      }
    }
    return Map.groupBy(slice, (serial) => cas.get(serial) ?? named.id);
  }

  #take(candidate: Candidate, caId: CaId, named: boolean): readonly Serial[] {
    const { selection, hold, now, holdPermitted } = this.#wanted;
    const matched = this.#matches(candidate);
    // What no predicate means is counted only where it was named.
    if (!matched && !named) return [];
    const state = certificateState(candidate, now);
    const holdable = isHoldable(candidate, holdPermitted);
    const { includeExpired } = selection;
    const verdict = verdictOf(state, { hold, includeExpired, matched, holdable });
    const { serial } = candidate;
    switch (verdict) {
      case "change":
      case "upgrade":
        this.#figures.known++;
        if (verdict === "upgrade") this.#figures.held++;
        this.#profiles.set(candidate.profile, (this.#profiles.get(candidate.profile) ?? 0) + 1);
        this.#show({ ...candidate, caId, known: true });
        return [serial];
      case "already_held":
        this.#figures.held++;
        return [serial];
      case "already_revoked":
        this.#figures.alreadyRevoked++;
        return [];
      case "filtered_out":
        this.#figures.filteredOut++;
        return [];
      case "expired_excluded":
        this.#figures.expiredExcluded++;
        return [];
    }
  }

  #takeUnknown(serial: Serial, caId: CaId, state: SelectableState | undefined): readonly Serial[] {
    if (state !== undefined) {
      this.#figures.alreadyRevoked++;
      return [];
    }
    this.#figures.unknown++;
    if (this.#unknown.length < shownMax) this.#unknown.push(serial);
    const unknown = { commonName: "", profile: "", notAfter: undefined, known: false };
    this.#show({ caId, serial, ...unknown });
    return [serial];
  }

  #show({ caId, serial, commonName, profile, notAfter, known }: Sample): void {
    if (this.#sample.length < shownMax) {
      this.#sample.push({ caId, serial, commonName, profile, notAfter, known });
    }
  }
}

/**
 * Leaves of a CA at the places of a range, in their order, as far as an index knows what the
 * selection wants: `predicateOf` and their state say the rest.
 */
export async function* storedSlices(
  reads: Pick<Reads, "candidates">,
  caId: CaId,
  { profile, spkiSha256 }: Selection,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): AsyncGenerator<readonly Candidate[]> {
  for (let at = after; at < upTo; ) {
    const range = { caId, profile, spkiSha256, after: at, upTo };
    const { items, reached } = await reads.candidates(range, sliceMax);
    yield items;
    at = reached;
  }
}

/**
 * The certificates of a CA that a selection means, whatever their state: those it names, or those
 * stored up to a place.
 */
export async function* meantSlices(
  reads: Pick<Reads, "candidates" | "named">,
  caId: CaId,
  selection: Selection,
  upTo: number,
): AsyncGenerator<readonly Candidate[]> {
  const matches = predicateOf(selection);
  if (selection.serials === undefined) {
    for await (const items of storedSlices(reads, caId, selection, { after: 0, upTo })) {
      yield items.filter(matches);
    }
    return;
  }
  for (const slice of slicesOf(selection.serials)) {
    yield (await reads.named(caId, slice)).filter((one) => one.kind === "leaf" && matches(one));
  }
}

function slicesOf(serials: readonly Serial[]): readonly (readonly Serial[])[] {
  const slices = Math.ceil(serials.length / sliceMax);
  return Array.from({ length: slices }, (_, at) =>
    serials.slice(at * sliceMax, (at + 1) * sliceMax),
  );
}

/** How many are shown of what there may be many of. */
const shownMax = 20;
const sliceMax = 1000;
