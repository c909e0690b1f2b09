/** Who stands above what a CA has issued: asked for one by one, for no list reaches to all CAs. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { ask, type Credential, type Refusal, type Reply, replied } from "#web/api.ts";
import { actionsIn, useConsole, useLive } from "#web/console.ts";
import { certificatesIn } from "#web/x509/paths.ts";
import type { Ca } from "./named-ca.ts";

export interface Issuers {
  /** The CA itself and those above it, as far as the caller may read them. */
  readonly cas: readonly Ca[];
  /** DER of what stands above the last of them: CAs that may not be read, or that are elsewhere. */
  readonly beyond: readonly Uint8Array[];
  /** Why the next one could not be had: then it is not known what else there is. */
  readonly refused?: Reply<unknown>;
}

interface Known {
  readonly of: string;
  readonly issuers: Issuers;
  /** Why they could not be had the last time, where they may be had the next time. */
  readonly refusal: Refusal | undefined;
}

/**
 * Undefined until they are known; they follow what becomes of CAs. Where some could not be had the
 * frame says so, and asks again.
 */
export function useIssuers(id: string): Issuers | undefined {
  const { credential, stale } = useConsole();
  const [known, setKnown] = useState<Known>();
  const [round, setRound] = useState(0);
  const again = useCallback(() => setRound((count) => count + 1), []);
  useLive(actionsIn(["ca.*"]), again);
  useEffect(() => {
    const stop = new AbortController();
    void walked(id, credential, stop.signal).then((issuers) => {
      if (stop.signal.aborted) return;
      setKnown((before) => knownAfter(before, id, issuers));
    });
    return () => stop.abort();
  }, [id, credential, round]);
  const refusal = known?.of === id ? known.refusal : undefined;
  useEffect(
    () => (refusal === undefined ? undefined : stale.add({ refusal, again })),
    [refusal, again, stale],
  );
  return known?.of === id ? known.issuers : undefined;
}

/** What is known whole stays while asking again fails: files and a form stand on it. */
function knownAfter(before: Known | undefined, of: string, issuers: Issuers): Known {
  const { refused } = issuers;
  const isKept = refused !== undefined && before?.of === of && before.issuers.refused === undefined;
  const refusal = refused?.kind === "refused" && !isWithheld(refused) ? refused.refusal : undefined;
  return { of, issuers: isKept ? before.issuers : issuers, refusal };
}

/** DER of every certificate above, nearest first; undefined where one of them could not be had. */
export function certificatesAbove(issuers: Issuers): readonly Uint8Array[] | undefined {
  const { cas, refused } = issuers;
  const isWhole = refused === undefined && cas.every((ca) => certificatesOf(ca).length > 0);
  return isWhole ? certificatesKnown(issuers) : undefined;
}

/** DER of those among them that could be had, nearest first. */
export const certificatesKnown = ({ cas, beyond }: Issuers): readonly Uint8Array[] =>
  cas.flatMap(certificatesOf).concat(beyond);

const certificatesOf = ({ certificate }: Ca): readonly Uint8Array[] =>
  certificatesIn(certificate ?? "");

/** Said in the place of files that would lack some of it. */
export const noChain = "Not every certificate above this one could be had, so no chain is given.";

async function walked(id: string, credential: Credential, signal: AbortSignal): Promise<Issuers> {
  const cas: Ca[] = [];
  const seen = new Set<string>();
  for (let next: string | undefined = id; next !== undefined && !seen.has(next); ) {
    seen.add(next);
    const reply: Reply<Ca> = await replied(ask("ca.show", { id: next }, credential, signal));
    if (reply.kind === "answered") {
      cas.push(reply.answer);
      next = reply.answer.parent_id;
    } else {
      return isWithheld(reply) ? unread(id, cas, credential, signal) : bare(cas, reply);
    }
  }
  return { cas, beyond: certificatesIn(cas.at(-1)?.external_chain ?? "") };
}

/** The records of those above may not be read; their certificates are public. */
async function unread(
  id: string,
  cas: readonly Ca[],
  credential: Credential,
  signal: AbortSignal,
): Promise<Issuers> {
  const reply = await replied(ask("ca.chains", { id }, credential, signal));
  if (reply.kind !== "answered") return bare(cas, reply);
  // A root has no path of its own above it.
  const own = reply.answer.items.find(({ native }) => native)?.pem ?? "";
  return { cas, beyond: certificatesIn(own).slice(cas.length) };
}

const bare = (cas: readonly Ca[], refused: Reply<unknown>): Issuers => ({
  cas,
  beyond: [],
  refused,
});

const isWithheld = (reply: Reply<unknown>): boolean =>
  reply.kind === "refused" && (reply.refusal.status === 403 || reply.refusal.status === 404);
