/** The end of an attempt, which everything in it shares. */

import type { ValidationFault } from "./fault.ts";

/** How long an attempt still has. */
export interface Deadline {
  /** Aborted when the time is up, or when the attempt is over. */
  readonly signal: AbortSignal;
  readonly secondsLeft: () => number;
}

/** Runs what has this many seconds; whatever listens to the signal ends with it. */
export async function withDeadline<T>(
  seconds: number,
  run: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const end = performance.now() + seconds * 1000;
  const timer = setTimeout(() => controller.abort(), seconds * 1000);
  try {
    return await run({
      signal: controller.signal,
      secondsLeft: () => Math.max((end - performance.now()) / 1000, secondsMin),
    });
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
}

/** What is awaited, or the fault when the time is up first. */
export function within<T>(
  awaited: Promise<T>,
  signal: AbortSignal,
  fault: () => ValidationFault,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(fault());
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort);
    awaited.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** So that a timer made of what is left ends at once and never runs without end. */
const secondsMin = 0.01;
