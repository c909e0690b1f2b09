/** Errors of an operating system that lacks descriptors, threads, memory or disk space. */

import { type Problem, refuse } from "./problems.ts";

/**
 * Returns the code of an error, or of one of its causes, if the system lacks a resource. A later
 * attempt may then succeed. Returns undefined for all other errors.
 */
export function findShortage(error: unknown): string | undefined {
  let cause = error;
  for (let depth = 0; depth < causesMax && cause instanceof Error; depth++) {
    const { code } = cause as { readonly code?: unknown }; // Errors of the system have one.
    if (typeof code === "string" && shortages.has(code)) return code;
    cause = cause.cause;
  }
  return undefined;
}

/** Returns the refusal `overloaded` for such an error; undefined for all other errors. */
export function refuseShortage(error: unknown): Problem | undefined {
  const code = findShortage(error);
  if (code === undefined) return undefined;
  const message = `The server lacks descriptors, threads, memory or disk space (${code}).`;
  return refuse("overloaded", { retry_after: 5 }, message);
}

const shortages: ReadonlySet<string> = new Set([
  "EMFILE",
  "ENFILE",
  "EAGAIN",
  "ENOBUFS",
  "ENOMEM",
  "ENOSPC",
  "EDQUOT",
  "ERR_WORKER_INIT_FAILED",
  "ERR_WORKER_OUT_OF_MEMORY",
]);
const causesMax = 5;
