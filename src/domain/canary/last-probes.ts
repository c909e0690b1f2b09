/** What the last probe of each configured CA came to, as one value of the instance. */

import { type Instant, parseTimestamp, timestamp } from "#core/time.ts";
import type { Store, Unit } from "#domain/store.ts";
import type { ProbeReport, ProbeResult, Stage } from "./stages.ts";

/** The last probe of a CA. */
export interface LastProbe {
  /** Id or label, as configured. */
  readonly reference: string;
  /** When it ended. */
  readonly at: string;
  readonly result: ProbeResult;
  /** The stage that failed. */
  readonly stage?: Stage;
  readonly reason?: string;
  readonly milliseconds: number;
  /** When the last one ended that succeeded; empty for none. */
  readonly succeeded_at: string;
}

/** The last probes of these references, in their order; those without one are left out. */
export async function lastProbesOf(
  { read }: Pick<Store, "read">,
  references: readonly string[],
): Promise<readonly LastProbe[]> {
  const text = await read.instance.value(valueName);
  // Written below, and by nobody else.
  const kept: readonly LastProbe[] = text === undefined ? [] : JSON.parse(text);
  return references.flatMap((wanted) => kept.find(({ reference }) => reference === wanted) ?? []);
}

/**
 * Keeps a report beside the others; what is no longer configured is forgotten, so that the value
 * stays as short as the configuration.
 */
export async function keepProbe(
  { instance }: Unit,
  others: readonly LastProbe[],
  { reference, result, stage, reason, milliseconds }: ProbeReport,
  now: Instant,
): Promise<void> {
  const at = timestamp(now);
  const before = others.find((one) => one.reference === reference);
  const last: LastProbe = {
    reference,
    at,
    result,
    ...(stage === undefined ? {} : { stage }),
    ...(reason === undefined ? {} : { reason }),
    milliseconds,
    succeeded_at: result === "success" ? at : (before?.succeeded_at ?? ""),
  };
  const next = [...others.filter((one) => one !== before), last];
  await instance.setValue(valueName, JSON.stringify(next));
}

/** What is measured of the CAs that are probed. */
export interface ProbeFacts {
  /** Epoch milliseconds of the success that is the longest ago; 0 while one of them has none. */
  readonly leastSuccess: number;
  /** How many CAs failed their last probe. */
  readonly failing: number;
}

/** The facts of these references; without any, of none. */
export async function probeFactsOf(
  store: Pick<Store, "read">,
  references: readonly string[],
): Promise<ProbeFacts> {
  const last = await lastProbesOf(store, references);
  const successes = last.map((one) => parseTimestamp(one.succeeded_at) ?? 0);
  const complete = last.length > 0 && last.length === references.length;
  return {
    leastSuccess: complete ? Math.min(...successes) : 0,
    failing: last.filter(({ result }) => result === "error").length,
  };
}

const valueName = "canary_last";
