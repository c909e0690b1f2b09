/** How many certificates and CAs chain to each key of a lineage, counted by the server now. */

import { useEffect, useState } from "preact/hooks";
import { ask, type Credential, replied } from "#web/api.ts";
import { useConsole } from "#web/console.ts";
import type { Ca } from "./ca.ts";

/** What is not known stays undefined. */
export interface Dependants {
  /** Valid ones, held ones included, those of CAs too. */
  readonly certificates: number | undefined;
  /** How many of them are of CAs of this instance. */
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
    const cas = await casBelow(ca, credential, signal);
    const certificates =
      ca.status === "superseded"
        ? await outstandingOf(ca, credential, signal)
        : sum(await leavesOf(ca, credential, signal), cas);
    counts.set(ca.id, { certificates, cas });
  }
  return counts;
}

async function outstandingOf({ id }: Ca, credential: Credential, signal: AbortSignal) {
  const reply = await replied(ask("ca.rotation", { id }, credential, signal));
  return reply.kind === "answered" ? reply.answer.outstanding_leaves : undefined;
}

async function leavesOf({ id }: Ca, credential: Credential, signal: AbortSignal) {
  const total = async (status: string) => {
    const asked = ask("cert.list", { id, status, limit: 1 }, credential, signal);
    const reply = await replied(asked);
    return reply.kind === "answered" ? reply.answer.total : undefined;
  };
  return sum(...(await Promise.all([total("good"), total("held")])));
}

/** Those that still sign something. */
async function casBelow({ id }: Ca, credential: Credential, signal: AbortSignal) {
  const total = async (status: string) => {
    const asked = ask("ca.list", { parent_id: id, status, limit: 1 }, credential, signal);
    const reply = await replied(asked);
    return reply.kind === "answered" ? reply.answer.total : undefined;
  };
  return sum(...(await Promise.all([total("active"), total("superseded")])));
}

const sum = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? undefined : one + other;

/** "12 certificates (1 of a CA)". */
export function dependantWords(dependants: Dependants | undefined): string {
  const { certificates, cas = 0 } = dependants ?? {};
  if (certificates === undefined) return "not counted";
  return `${counted(certificates, "certificate")}${ofCas(cas)}`;
}

/** How many of them are of CAs, said only where there are any. */
export const ofCas = (cas: number): string =>
  cas === 0 ? "" : ` (${cas.toLocaleString("en")} of ${cas === 1 ? "a CA" : "CAs"})`;

/** "1 certificate", "2 certificates". */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
