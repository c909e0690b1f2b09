/**
 * Writes PromQL over the metrics of the table: what names a metric, label or value that the table
 * does not have does not compile.
 */

import { type LabelsOf, type MetricName, metricOf, type NamesOf } from "./metrics.ts";

/** What a label has to be: a value, or a pattern that it matches, or one that it does not. */
type Wanted<V> = V | { readonly like: string } | { readonly unlike: string };

/** Of which series of a metric, by their labels. */
export type Matchers<N extends MetricName> = {
  readonly [L in keyof LabelsOf<N>]?: Wanted<LabelsOf<N>[L]>;
};

/** Labels that are told apart; the instance is what Prometheus adds. */
type By<N extends MetricName> = readonly ((keyof LabelsOf<N> & string) | "instance")[];

/**
 * Queries that all have the same scope, a matcher in PromQL or none for every series, and look back
 * over the same window, a duration in PromQL or a variable that holds one.
 */
export function queries({ scope, window }: { readonly scope: string; readonly window: string }) {
  const selected = (name: string, matchers: object): string => {
    const all = Object.entries(matchers).map(([label, wanted]) => matcher(label, wanted));
    const written = scope === "" ? all : [scope, ...all];
    return written.length === 0 ? name : `${name}{${written.join(",")}}`;
  };
  return {
    /** The series themselves, of a gauge or a counter. */
    series: <N extends NamesOf<"gauge" | "counter">>(name: N, matchers: Matchers<N> = {}) =>
      selected(name, matchers),
    /** How much a counter rises in a second, added up but for these labels. */
    perSecond: <N extends NamesOf<"counter">>(name: N, by: By<N>, matchers: Matchers<N> = {}) =>
      `sum by (${by.join(", ")}) (rate(${selected(name, matchers)}[${window}]))`,
    /** How much a counter has risen in the window, added up but for these labels. */
    risen: <N extends NamesOf<"counter">>(name: N, by: By<N>, matchers: Matchers<N> = {}) =>
      `sum by (${by.join(", ")}) (increase(${selected(name, matchers)}[${window}]))`,
    /** What this share of the observations of a histogram does not exceed. */
    quantile: <N extends NamesOf<"histogram">>(
      share: number,
      name: N,
      by: By<N>,
      matchers: Matchers<N> = {},
    ) => {
      const rates = `rate(${selected(`${name}_bucket`, matchers)}[${window}])`;
      return `histogram_quantile(${share}, sum by (${["le", ...by].join(", ")}) (${rates}))`;
    },
  };
}

/** The sentences of the metrics that an expression names, in its order, each once. */
export function helpOf(expression: string): readonly string[] {
  const named = [...expression.matchAll(/\bpki_[a-z_]+?(?=_bucket\b|\b)/g)].map(([name]) => name);
  // The expressions are written with the names of the table.
  return [...new Set(named)].map((name) => metricOf(name as MetricName).help);
}

function matcher(label: string, wanted: string | { like: string } | { unlike: string }): string {
  if (typeof wanted === "string") return `${label}=${JSON.stringify(wanted)}`;
  if ("like" in wanted) return `${label}=~${JSON.stringify(wanted.like)}`;
  return `${label}!~${JSON.stringify(wanted.unlike)}`;
}
