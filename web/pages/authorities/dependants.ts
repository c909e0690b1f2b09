/** How many certificates and CAs chain to each key of a lineage, counted by the server now. */

import { useEffect, useState } from "preact/hooks";
import { ask, type Credential, replied } from "#web/api.ts";
import { useConsole } from "#web/console.ts";
import type { Ca } from "./ca.ts";

/** What is not known stays undefined. */
export interface Dependants {
  /** Valid ones, held ones included. */
  readonly leaves: number | undefined;
  readonly cas: number | undefined;
}

/** Key by key, by id. */
export function useDependants(lineage: readonly Ca[]): ReadonlyMap<string, Dependants> {
  const { credential } = useConsole();
  const [known, setKnown] = useState<ReadonlyMap<string, Dependants>>(new Map());
  const key = lineage.map(({ id, status }) => `${id} ${status}`).join();
  useEffect(() => {
    const stop = new AbortController();
    void countsOf(lineage, credential, stop.signal).then((counts) => {
      if (!stop.signal.aborted) setKnown(counts);
    });
    return () => stop.abort();
    // `key` stands for the lineage, which is a new list each time it is drawn.
  }, [key, credential]);
  return known;
}

async function countsOf(
  lineage: readonly Ca[],
  credential: Credential,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Dependants>> {
  const counts = new Map<string, Dependants>();
  for (const ca of lineage) {
    const [leaves, cas] = await Promise.all([
      leavesOf(ca, credential, signal),
      casBelow(ca, credential, signal),
    ]);
    counts.set(ca.id, { leaves, cas });
  }
  return counts;
}

async function leavesOf(
  { id, status }: Ca,
  credential: Credential,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (status === "superseded") {
    const reply = await replied(ask("ca.rotation", { id }, credential, signal));
    return reply.kind === "answered" ? reply.answer.outstanding_leaves : undefined;
  }
  const total = async (word: string) => {
    const asked = ask("cert.list", { id, status: word, limit: 1 }, credential, signal);
    const reply = await replied(asked);
    return reply.kind === "answered" ? reply.answer.total : undefined;
  };
  const [good, held] = await Promise.all([total("good"), total("held")]);
  return good === undefined || held === undefined ? undefined : good + held;
}

async function casBelow(
  { id }: Ca,
  credential: Credential,
  signal: AbortSignal,
): Promise<number | undefined> {
  const asked = ask("ca.list", { parent_id: id, limit: 1 }, credential, signal);
  const reply = await replied(asked);
  return reply.kind === "answered" ? reply.answer.total : undefined;
}

/** "12 certificates and 1 CA". */
export function dependantWords(dependants: Dependants | undefined): string {
  const { leaves, cas } = dependants ?? {};
  const words = [
    leaves === undefined ? "certificates not counted" : counted(leaves, "certificate"),
    ...(cas === undefined || cas === 0 ? [] : [counted(cas, "CA")]),
  ];
  return words.join(" and ");
}

/** "1 certificate", "2 certificates". */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
