/**
 * A subscriber that keeps one certificate and renews it by itself when it is told to (RFC 9773
 * §4.2, §4.3, §5).
 */

import { type AcmeClient, bodyOf, type Downloaded, type Proof } from "./client.ts";

export interface Renewing {
  readonly client: AcmeClient;
  readonly names: readonly string[];
  readonly show: (proof: Proof) => unknown;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly chance: () => number;
  readonly signal: AbortSignal;
}

/**
 * Asks when to come, as often as it is told, and comes at a moment of its own in the window; gives
 * what it has got for the certificate, or undefined when it was told to stop.
 */
export async function renewed(
  held: Pick<Downloaded, "leaf">,
  { client, names, show, chance, signal }: Renewing,
): Promise<Downloaded | undefined> {
  const { certId } = held.leaf;
  for (let share: number | undefined; !signal.aborted; ) {
    const answer = await client.renewalInfo(held.leaf);
    const { suggestedWindow: told } = bodyOf<{ suggestedWindow: Window }>(answer);
    const [start, end] = [Date.parse(told.start), Date.parse(told.end)];
    // One moment for as long as the window does not move: otherwise every look is another chance.
    share ??= chance();
    const wanted = start + share * (end - start);
    const wake = Date.now() + Number(answer.headers.get("retry-after")) * 1000;
    if (wanted >= wake) {
      await paused(wake, signal);
      continue;
    }
    await paused(wanted, signal);
    if (signal.aborted) return undefined;
    return await client.obtain(names, show, { more: { replaces: certId } });
  }
  return undefined;
}

interface Window {
  readonly start: string;
  readonly end: string;
}

/** Until that moment, or until there is nothing more to wait for. */
function paused(until: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, Math.max(0, until - Date.now()));
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    resolve();
  });
  return promise;
}
