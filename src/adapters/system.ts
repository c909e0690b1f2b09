/** Time, randomness and the name of the user from the operating system. */

import { randomFillSync, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";

import { instant } from "#core/time.ts";
import type { Clock, Later, Patience, Random, Stopwatch } from "#domain/ports.ts";

/** The host's wall clock. */
export const systemClock: Clock = { now: () => instant(Date.now()) };

/** The host's monotonic clock. */
export const systemStopwatch: Stopwatch = { elapsedMs: () => performance.now() };

/** Waits by the runtime's timers. */
export const systemPatience: Patience = {
  within: async (seconds, work) => {
    let timer: Timer | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), seconds * 1000);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  },
};

/** By the runtime's timers. */
export const systemLater: Later = (milliseconds, act) => {
  const timer = setTimeout(act, milliseconds).unref();
  return () => clearTimeout(timer);
};

/** The host's CSPRNG. */
export const systemRandom: Random = {
  bytes: (length) => randomFillSync(new Uint8Array(length)),
  uuid: () => randomUUID(),
};

/**
 * Name of the user this process runs as, by its number in the user database, else `uid:<number>`.
 * The runtime's own answer is the variable USER, which the caller may set to any name before it
 * reaches the audit chain.
 */
export function osUser(): string {
  const uid = String(process.getuid?.() ?? "unknown");
  const entry = userDatabase()
    .split("\n")
    .map((line) => line.split(":"))
    .find((fields) => fields[2] === uid);
  return entry?.[0] ?? `uid:${uid}`;
}

function userDatabase(): string {
  try {
    return readFileSync("/etc/passwd", "utf8");
  } catch {
    return ""; // Minimal containers have none; the number names the user as well.
  }
}
