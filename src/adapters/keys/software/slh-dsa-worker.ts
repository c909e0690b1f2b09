/**
 * A worker of the signer for one slow operation: makes an SLH-DSA key or one signature, answers,
 * and ends.
 */

import { parentPort } from "node:worker_threads";

import { slhDsaSets } from "#core/slh-dsa.ts";

import type { SlhDsaJob } from "./slh-dsa-data.ts";

/** Pure mode, empty context, hedged by the runtime's randomness (FIPS 205 §10.2). */
export function runSlhDsaJob({ slhDsa, secret, message }: SlhDsaJob): void {
  const set = slhDsaSets[slhDsa];
  const answer =
    secret === undefined || message === undefined
      ? set.keygen().secretKey
      : set.sign(message, secret);
  secret?.fill(0);
  parentPort?.postMessage(answer);
  parentPort?.close();
}
