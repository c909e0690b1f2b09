/** Runs in the thread of paths: answers one question after the other until it is ended. */

import { parentPort } from "node:worker_threads";

import { answerPath, type PathQuestion } from "#core/policy/path-work.ts";

import { type ThreadAnswer, threadReady } from "./thread-data.ts";

/** Says that it is ready, and serves. */
export function runPathJob(): void {
  parentPort?.on("message", (question: PathQuestion) => {
    const say = (answer: ThreadAnswer) => parentPort?.postMessage(answer);
    try {
      say({ answer: answerPath(question) });
    } catch (error) {
      // Only its text crosses to the other thread.
      say({ fault: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  parentPort?.postMessage(threadReady);
}
