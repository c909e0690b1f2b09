/**
 * Stands in for a signer's worker thread: tells how long signing took, counts who works at once,
 * hangs when told to, and gets no token session where there are only so many.
 */

import { isMainThread, parentPort, workerData } from "node:worker_threads";

import {
  noMoreWork,
  type Work,
  type WorkerSays,
  type WorkerStart,
} from "#adapters/keys/pkcs11/jobs.ts";

/** Places in the shared memory that is given as the slot. */
export const places = { now: 0, released: 1, started: 2, ended: 3, sessions: 4 } as const;
/** A key of this label is signed with once `released` is set. */
export const hangs = "hangs";

if (!isMainThread) work(workerData as WorkerStart); // Given by the pool.

function work({ slot, serial }: WorkerStart): void {
  const shared = new Int32Array(slot.buffer);
  const say = (message: WorkerSays) => parentPort?.postMessage(message);

  const sessions = Atomics.load(shared, places.sessions);
  if (sessions > 0 && Atomics.load(shared, places.started) >= sessions) {
    say({ says: "failed", reason: "CKR_SESSION_COUNT" });
    return;
  }
  parentPort?.on("message", (batch: readonly Work[] | typeof noMoreWork) => {
    if (batch === noMoreWork) {
      Atomics.add(shared, places.ended, 1);
      parentPort?.close();
      return;
    }
    Atomics.add(shared, places.now, 1);
    for (const job of batch) {
      const label = "ref" in job ? job.ref.label : "label" in job ? job.label : "";
      if (label === hangs) Atomics.wait(shared, places.released, 0);
    }
    Atomics.sub(shared, places.now, 1);
    const signature = new Uint8Array([1]);
    const elapsedMs = Number(serial);
    const outcomes = batch.map(() => ({ status: "signed", signature, elapsedMs }) as const);
    say({ says: "done", outcomes, elapsedMs: elapsedMs * batch.length });
  });
  Atomics.add(shared, places.started, 1);
  say({ says: "ready" });
}
