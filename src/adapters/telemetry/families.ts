/**
 * Holds the numbers of each metric as plain numbers, so that counting costs a map look-up and
 * rendering waits for a scrape.
 */

import type { Metric, Registry } from "prom-client";

import { nextTurn } from "#core/turns.ts";

import {
  type LabelsOf,
  type MetricName,
  type MetricRow,
  metricOf,
  metricTable,
  type NamesOf,
} from "./metrics.ts";

/**
 * The metrics of one process. Label values are checked by type; nothing here can fail a request.
 */
export class Metrics {
  /** The library that renders, loaded with the first scrape. */
  #registry: Promise<Registry> | undefined;
  readonly #families = new Map<MetricName, Family>();
  readonly #collectors: (() => void | Promise<void>)[] = [];

  constructor() {
    // The table's own keys.
    for (const name of Object.keys(metricTable) as MetricName[]) {
      this.#families.set(name, new Family(name, metricOf(name)));
    }
  }

  /** Adds to a counter. */
  count<N extends NamesOf<"counter">>(name: N, labels: LabelsOf<N>, by = 1): void {
    this.series(name, labels).value += by;
  }

  /** Sets a gauge, or a counter that someone else counts. */
  set<N extends NamesOf<"gauge" | "counter">>(name: N, labels: LabelsOf<N>, value: number): void {
    this.series(name, labels).value = value;
  }

  /** Adds one observation to a histogram. */
  observe<N extends NamesOf<"histogram">>(name: N, labels: LabelsOf<N>, seconds: number): void {
    this.series(name, labels).observe(seconds);
  }

  /**
   * The series of these labels itself, which exists with value 0 from now on: for callers on the
   * hot path, who keep it and count without a look-up.
   */
  series<N extends MetricName>(name: N, labels: LabelsOf<N>): Series {
    return this.#family(name).series(labels as Labels);
  }

  /**
   * Runs before every scrape, to set what is read and not counted. One that fails leaves its metric
   * as it was.
   */
  beforeScrape(collect: () => void | Promise<void>): void {
    this.#collectors.push(collect);
  }

  /**
   * The text exposition format (version 0.0.4). Other work runs between metrics of many series:
   * there are some for each CA and tenant.
   */
  async exposition(): Promise<{ readonly type: string; readonly text: string }> {
    await Promise.allSettled(this.#collectors.map(async (collect) => collect()));
    this.#registry ??= registryOf(this.#families.values());
    const registry = await this.#registry;
    const parts: string[] = [];
    let written = 0;
    for (const name of this.#families.keys()) {
      const part = await registry.getSingleMetricAsString(name);
      parts.push(part);
      written += part.length;
      if (written < charactersPerTick) continue;
      written = 0;
      await nextTurn();
    }
    return { type: registry.contentType, text: `${parts.join("\n\n")}\n` };
  }

  #family(name: MetricName): Family {
    const family = this.#families.get(name);
    if (family === undefined) throw new Error(`no metric ${name}`); // The table has every name.
    return family;
  }
}

async function registryOf(families: Iterable<Family>): Promise<Registry> {
  const library = await import("prom-client");
  const registry = new library.Registry();
  for (const family of families) {
    // It asks a metric only for its name and for `get()`, which a family answers in the library's
    // form.
    registry.registerMetric(family as unknown as Metric);
  }
  return registry;
}

/**
 * Label values by name: what `LabelsOf` of every row is, though no type can say so for all rows at
 * once.
 */
type Labels = Readonly<Record<string, string>>;

/** One series: a value, or for a histogram its sum and the observations per bucket. */
export class Series {
  value = 0;
  readonly labels: Labels;
  /** Observations per bucket, the last being those above every bound. */
  readonly counts: number[];
  readonly #bounds: readonly number[];

  constructor(labels: Labels, bounds: readonly number[] = []) {
    this.labels = labels;
    this.#bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  /** Adds one observation to a histogram. */
  observe(seconds: number): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] ?? 0)) at++;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.value += seconds;
  }
}

/** All series of one metric, in the form the registry renders. */
class Family {
  readonly name: MetricName;
  readonly #row: MetricRow;
  readonly #labelNames: readonly string[];
  readonly #series = new Map<string, Series>();

  /** Series of closed label sets exist from the start with value 0. */
  constructor(name: MetricName, row: MetricRow) {
    this.name = name;
    this.#row = row;
    this.#labelNames = Object.keys(row.labels);
    for (const labels of combinations(row.labels)) this.series(labels);
  }

  series(given: Labels): Series {
    let key = "";
    for (const name of this.#labelNames) key += `${given[name]} `;
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const labels = Object.fromEntries(this.#labelNames.map((name) => [name, given[name] ?? ""]));
    const fresh = new Series(labels, this.#row.buckets);
    this.#series.set(key, fresh);
    return fresh;
  }

  get() {
    const { type, help } = this.#row;
    const values = [...this.#series.values()].flatMap((series) =>
      type === "histogram" ? histogramValues(this.name, this.#row, series) : [plainValue(series)],
    );
    return { name: this.name, help, type, values, aggregator: "sum" };
  }
}

/** One line of the exposition; without a name of its own it goes by the metric's. */
interface Sample {
  readonly metricName?: string;
  readonly labels: Labels;
  readonly value: number;
}

const plainValue = ({ labels, value }: Series): Sample => ({ labels, value });

function histogramValues(name: string, row: MetricRow, { labels, value, counts }: Series) {
  let total = 0;
  const bounds = [...(row.buckets ?? []).map(String), "+Inf"];
  const samples: Sample[] = bounds.map((le, at) => {
    total += counts[at] ?? 0;
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: total };
  });
  samples.push({ metricName: `${name}_sum`, labels, value });
  samples.push({ metricName: `${name}_count`, labels, value: total });
  return samples;
}

/** Every combination of closed label values; none when a label is open. */
function combinations(labels: MetricRow["labels"]): readonly Record<string, string>[] {
  let all: Record<string, string>[] = [{}];
  for (const [name, values] of Object.entries(labels)) {
    if (typeof values === "string") return [];
    all = all.flatMap((head) => values.map((value) => ({ ...head, [name]: value })));
  }
  return all;
}

/** Length of the text that is written in one tick of the event loop: a few milliseconds. */
const charactersPerTick = 65_536;
