/**
 * Asks several logs at once for their SCTs, verifies each, and stops when there are enough
 * (CT-2 to CT-4).
 */

import { type CtNeeds, type CtPolicy, ctMet } from "#core/policy/transparency.ts";
import { addSeconds } from "#core/time.ts";
import { type PrecertEntry, type Sct, sctVerified } from "#core/transparency/sct.ts";
import type { Clock } from "#domain/ports.ts";
import { type CtLog, type LogClient, LogFault } from "./logs.ts";

/** A precertificate and where it goes. */
export interface Submission {
  readonly logs: readonly CtLog[];
  /** The precertificate and the certificates above it. */
  readonly chain: readonly Uint8Array[];
  readonly entry: PrecertEntry;
  readonly needs: CtNeeds;
  readonly policy: Pick<CtPolicy, "timeoutSeconds" | "retries">;
}

/** What became of one log; `error` is a closed word. */
export type LogOutcome = { readonly log: string; readonly operator: string } & (
  | { readonly ok: true }
  | { readonly ok: false; readonly error: LogError }
);

export type LogError =
  | LogFault["reason"]
  | "wrong_log"
  | "bad_signature"
  | "future_timestamp"
  /** The others were enough before it answered. */
  | "late";

/** A verified SCT and the log that gave it. */
export interface LogSct {
  readonly log: CtLog;
  readonly sct: Sct;
}

export interface Collected {
  readonly met: boolean;
  /** In the order of the registry. */
  readonly scts: readonly LogSct[];
  readonly outcomes: readonly LogOutcome[];
}

/** Submits and collects. Never throws for what a log does. */
export async function collectScts(
  deps: { readonly client: LogClient; readonly clock: Clock },
  submission: Submission,
): Promise<Collected> {
  const { logs, needs } = submission;
  const enough = new AbortController();
  const answered = new Map<CtLog, Sct>();
  const asked = logs.map(async (log): Promise<LogOutcome> => {
    const { name, operator } = log;
    const answer = await persistently(deps, submission, log, enough.signal);
    // Whoever answers after the end is not counted, so that the list is decided by one moment.
    if (enough.signal.aborted) return { log: name, operator, ok: false, error: "late" };
    if (typeof answer === "string") return { log: name, operator, ok: false, error: answer };
    answered.set(log, answer);
    if (ctMet(needs, operatorsOf(answered.keys()))) enough.abort();
    return { log: name, operator, ok: true };
  });
  const outcomes = await Promise.all(asked);
  return {
    met: ctMet(needs, operatorsOf(answered.keys())),
    scts: logs.flatMap((log) => {
      const sct = answered.get(log);
      return sct === undefined ? [] : [{ log, sct }];
    }),
    outcomes,
  };
}

async function persistently(
  deps: { readonly client: LogClient; readonly clock: Clock },
  submission: Submission,
  log: CtLog,
  signal: AbortSignal,
): Promise<Sct | LogError> {
  const { timeoutSeconds, retries } = submission.policy;
  const limits = { signal, timeoutSeconds: timeoutSeconds || timeoutDefaultSeconds };
  for (let attempt = 0; ; attempt++) {
    try {
      const sct = await deps.client.submit(log, submission.chain, limits);
      return wrongWith(sct, log, submission.entry, deps.clock) ?? sct;
    } catch (error) {
      if (!(error instanceof LogFault)) throw error;
      if (error.reason === "rejected" || attempt >= retries || signal.aborted) return error.reason;
    }
    await deps.client.pause(backoffSeconds * 2 ** attempt, signal);
    if (signal.aborted) return "late";
  }
}

/** CT-3: log id, key, signature, and not from the future. */
function wrongWith(sct: Sct, log: CtLog, entry: PrecertEntry, clock: Clock): LogError | undefined {
  if (!Buffer.from(sct.logId).equals(log.key.logId)) return "wrong_log";
  if (!sctVerified(sct, entry, log.key)) return "bad_signature";
  return sct.timestamp > addSeconds(clock.now(), futureSeconds) ? "future_timestamp" : undefined;
}

const operatorsOf = (logs: Iterable<CtLog>): readonly string[] =>
  [...logs].map(({ operator }) => operator);

const timeoutDefaultSeconds = 10;
const backoffSeconds = 0.25;
const futureSeconds = 300;
