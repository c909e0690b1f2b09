/**
 * What ends when, for everybody who may read it: counted in whole, and the most urgent listed
 * (EXP-1, EXP-2).
 */

import type { Reach } from "#core/access/principal.ts";
import { lastEndOf, type Severity, severityOf, type Thresholds } from "#core/expiry/severity.ts";
import type { CaId, TenantId } from "#core/ids.ts";
import { Recent } from "#core/recent.ts";
import { sharedBy } from "#core/shared.ts";
import { addSeconds, type Instant, instant, secondsPerDay } from "#core/time.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { PageKey } from "#domain/page.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { Earliest } from "./earliest.ts";
import { type EndCount, type Watched, watchedStatuses } from "./store.ts";

/** Whose certificates a report is about. */
export interface Scope {
  /** Where the caller may read. */
  readonly reach: Reach;
  /** One CA, which lies in the reach; undefined for all of them. */
  readonly ca: CaId | undefined;
  /** The CAs of one tenant; undefined for those of all. */
  readonly tenant?: TenantId | undefined;
}

/** What a report lists; it counts everything in scope whatever this says. */
export interface Listing {
  /** Those that end within so many days, what has expired with them. */
  readonly days: number | undefined;
  /** Those as urgent as this, or more. */
  readonly severity: Severity | undefined;
  /** Also those another has superseded. */
  readonly superseded: boolean;
  /** The most urgent so many, 1 to 10,000. */
  readonly limit: number;
}

/** One certificate of a report. */
export interface Entry extends Watched {
  readonly caLabel: string;
  readonly severity: Severity;
}

/** The report at one moment. */
export interface Report {
  readonly at: Instant;
  readonly thresholds: Thresholds;
  /** Of everything in scope that is not superseded. */
  readonly counts: Readonly<Record<Severity, number>>;
  /** How many the listing selects, of which `entries` are the most urgent. */
  readonly total: number;
  /** By their ends, the earliest first; of one moment by serial. */
  readonly entries: readonly Entry[];
}

export interface ReportDeps {
  readonly store: Pick<Store, "read">;
  readonly clock: Clock;
  /** Those in force. */
  readonly thresholds: () => Thresholds;
}

/** Reports of one instance. */
export class Reports {
  readonly #deps: ReportDeps;
  readonly #shared = sharedBy<Report>();
  /** Counts that took long, by CA and listing. */
  readonly #counts = new Recent<string, CachedCounts>(countsMax);

  constructor(deps: ReportDeps) {
    this.#deps = deps;
  }

  /**
   * The report as of now. Who asks for the same while one is made waits for the next, with all who
   * do so: a count walks the whole inventory. If that takes long, later reports repeat the counts
   * of a CA for up to a minute; memory grows with the entries only.
   */
  async report(scope: Scope, listing: Listing): Promise<Report> {
    const key = JSON.stringify([scope, listing]);
    return await this.#shared(key, () => this.#made(scope, listing));
  }

  async #made(scope: Scope, listing: Listing): Promise<Report> {
    const { store, clock } = this.#deps;
    const at = clock.now();
    const thresholds = this.#deps.thresholds();
    const until = lastListed(listing, at, thresholds);
    const counts = { ok: 0, warning: 0, critical: 0, expired: 0 };
    let total = 0;
    const ends = endsAmong(at, thresholds, until);
    const edges = JSON.stringify([listing.days, listing.severity, thresholds]);
    const earliest = new Earliest<Entry>(listing.limit);
    for await (const ca of casIn(store, scope)) {
      const spans = await this.#countEnds(ca.id, ends, edges);
      let selected = 0;
      for (const [index, { present, superseded }] of spans.entries()) {
        const end = ends[index] ?? at;
        counts[severityOf(end, at, thresholds)] += present;
        if (end > until) continue;
        selected += present + (listing.superseded ? superseded : 0);
      }
      total += selected;
      if (selected === 0) continue;
      await this.#list(ca, until, listing, (one) =>
        earliest.add({
          ...one,
          caLabel: ca.label,
          severity: severityOf(one.notAfter, at, thresholds),
        }),
      );
    }
    return { at, thresholds, counts, total, entries: earliest.all() };
  }

  /** Counts ends now, or repeats a count of the same listing that took long a moment ago. */
  async #countEnds(
    ca: CaId,
    ends: readonly Instant[],
    edges: string,
  ): Promise<readonly EndCount[]> {
    const { store, clock } = this.#deps;
    const key = `${ca} ${edges}`;
    const start = clock.now();
    const cached = this.#counts.get(key);
    if (cached !== undefined && cached.at <= start && start < cached.until) {
      // Ends that fall together at one moment make fewer spans than at another.
      if (cached.spans.length === ends.length) return cached.spans;
    }
    const spans = await store.read.expiry.endCounts(ca, ends);
    const took = (clock.now() - start) / 1000;
    if (took < slowSeconds) return spans;
    const until = addSeconds(start, Math.min(repeatedSeconds, Math.ceil(took * repeatedShare)));
    this.#counts.set(key, { at: start, until, spans });
    return spans;
  }

  /** Walks a CA for as long as `add` says that what ends later still has a place. */
  async #list(
    { id: caId }: CaRecord,
    until: Instant,
    { superseded }: Listing,
    add: (one: Watched) => boolean,
  ): Promise<void> {
    const { expiry } = this.#deps.store.read;
    for (const status of watchedStatuses) {
      let after: Parameters<typeof expiry.ending>[1];
      do {
        const step = await expiry.ending({ caId, status, until, superseded }, after);
        after = step.items.map(add).includes(false) ? undefined : step.next;
      } while (after !== undefined);
    }
  }
}

interface CachedCounts {
  readonly at: Instant;
  readonly until: Instant;
  readonly spans: readonly EndCount[];
}

/** Every CA in scope, whatever its status: certificates outlive the key that signed them. */
export async function* casIn(
  { read }: Pick<Store, "read">,
  { reach, ca, tenant }: Scope,
): AsyncGenerator<CaRecord> {
  if (ca !== undefined) {
    const one = await read.cas.byId(ca);
    const isTheirs = tenant === undefined || one?.tenant === tenant;
    if (one !== undefined && isTheirs) yield one;
    return;
  }
  for (let after: PageKey | undefined; ; ) {
    const page = await read.cas.page({ reach, tenant }, casAtOnce, after);
    yield* page.items;
    if (page.next === undefined) return;
    after = page.next;
  }
}

/** The last end a listing selects. */
function lastListed({ days, severity }: Listing, at: Instant, thresholds: Thresholds): Instant {
  const bySeverity = severity && lastEndOf(severity, at, thresholds);
  const byDays = days === undefined ? undefined : addSeconds(at, days * secondsPerDay);
  return instant(Math.min(bySeverity ?? forever, byDays ?? forever));
}

/** Where one span of a count ends and the next begins: at each severity, and at the listing's. */
function endsAmong(at: Instant, thresholds: Thresholds, until: Instant): readonly Instant[] {
  const edges = (["expired", "critical", "warning"] as const).map((severity) =>
    lastEndOf(severity, at, thresholds),
  );
  const ends = [...edges, until, forever].filter((end) => end !== undefined);
  return [...new Set(ends)].sort((a, b) => a - b);
}

/** The last moment a date can name. */
const forever = instant(8.64e15);
const casAtOnce = 100;
const countsMax = 1000;
/** A count that takes as long is repeated for twenty times as long, at most for a minute. */
const slowSeconds = 0.25;
const repeatedShare = 20;
const repeatedSeconds = 60;
