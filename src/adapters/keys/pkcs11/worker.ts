/**
 * A worker of the signer: one thread, one token session, one operation at a time, all calls
 * synchronous.
 */

import { parentPort, workerData } from "node:worker_threads";

import { Problem, problems } from "#core/problems.ts";
import { RestartNeeded } from "#adapters/keys/requests.ts";

import { noMoreWork, type Outcome, type WorkerSays, type WorkerStart, type Work } from "./jobs.ts";
import { generateOnHsmToken } from "./keygen.ts";
import { generateKekOnHsmToken } from "./kek.ts";
import { loadModule, type P11 } from "./module.ts";
import { returnValueOf } from "./rv.ts";
import { TokenSession } from "./token-session.ts";

/**
 * Runs in a worker thread until there is no more work for it; the main thread has initialised the
 * module and logged in.
 */
export function runSignerWorker(): void {
  const port = parentPort;
  if (port === null) throw new Error("a signer worker runs in a worker thread");
  const say = (message: WorkerSays) => port.postMessage(message);
  const start = workerData as WorkerStart; // Given by the pool.
  try {
    const p11 = loadModule(start.module_path);
    const tokenSession = new TokenSession(p11, {
      slot: Buffer.from(start.slot),
      serial: start.serial,
    });
    port.on("message", (batch: readonly Work[] | typeof noMoreWork) => {
      if (batch === noMoreWork) {
        // The login is the process's: its own session keeps it.
        tokenSession.leave();
        port.close();
        return;
      }
      const started = performance.now();
      const outcomes = batch.map((work) => outcomeOf(p11, tokenSession, start.serial, work));
      say({ says: "done", outcomes, elapsedMs: performance.now() - started });
    });
    say({ says: "ready" });
  } catch (fault) {
    say({ says: "failed", reason: returnValueOf(fault)?.name ?? String(fault) });
  }
}

function outcomeOf(p11: P11, tokenSession: TokenSession, serial: string, work: Work): Outcome {
  try {
    return attempt(p11, tokenSession, serial, work);
  } catch (fault) {
    return failureOf(fault);
  }
}

function attempt(p11: P11, tokenSession: TokenSession, serial: string, work: Work): Outcome {
  switch (work.operation) {
    case "sign": {
      const started = performance.now();
      const signature = tokenSession.sign(work.ref, work.algorithm, work.message);
      const elapsedMs = performance.now() - started;
      // Posting a view posts the whole buffer behind it, so the signature gets one of its own.
      return { status: "signed", signature: new Uint8Array(signature), elapsedMs };
    }
    case "find":
      return { status: "found", keyHandle: tokenSession.find(work.ref) };
    case "list":
      return { status: "listed", keys: tokenSession.list() };
    case "destroy":
      tokenSession.destroy(work.ref);
      return { status: "done" };
    case "generate": {
      const { label, keyType } = work;
      const keyHandle = tokenSession.writing((writable) =>
        generateOnHsmToken(p11, writable, { label, keyType, serial }),
      );
      return { status: "found", keyHandle };
    }
    case "kek.generate":
      return {
        status: "kek",
        kekHandle: tokenSession.writing((writable) =>
          generateKekOnHsmToken(p11, writable, { label: work.label, serial }),
        ),
      };
    case "kek.wrap":
      return { status: "wrapped", wrapped: tokenSession.wrap(work.ref, work.dek, work.use) };
    case "kek.unwrap":
      return { status: "unwrapped", dek: tokenSession.unwrap(work.ref, work.wrapped, work.use) };
    case "kek.destroy":
      tokenSession.destroyKek(work.ref);
      return { status: "done" };
    default:
      return work satisfies never;
  }
}

function failureOf(fault: unknown): Outcome {
  if (fault instanceof Problem) {
    const { code, facts, message } = fault;
    return { status: "refused", refusal: { code, facts, sentence: message }, note: "" };
  }
  if (fault instanceof RestartNeeded) {
    return { status: "restart", cause: fault.cause, reason: fault.message };
  }
  const rv = returnValueOf(fault);
  if (rv === undefined) {
    const reason = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
    return { status: "fault", reason };
  }
  // Token session faults come here only after three attempts.
  if (rv.action === "restart" || rv.action === "token session") {
    return { status: "restart", cause: "device", reason: rv.name };
  }
  const [, sentence] = problems.key_unavailable;
  const refusal = { code: "key_unavailable", facts: { retry_after: 2 }, sentence } as const;
  return { status: "refused", refusal, note: rv.name };
}
