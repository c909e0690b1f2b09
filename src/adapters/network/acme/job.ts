/** Runs in the thread of validations: makes attempts, many at a time, until it is ended. */

import { parentPort } from "node:worker_threads";

import type { AskedAttempt, ThreadWord } from "./thread-data.ts";
import { NetworkValidators, type ValidatorsDeps } from "./validators.ts";

/** Serves until the thread ends. */
export function runValidationJob(deps: Pick<ValidatorsDeps, "random" | "clock">): void {
  const say = (word: ThreadWord) => parentPort?.postMessage(word);
  const log: ValidatorsDeps["log"] = {
    write: (level, message, facts) => say({ level, message, facts }),
  };
  parentPort?.on("message", ({ id, task, settings, ownListeners }: AskedAttempt) => {
    const validators = new NetworkValidators({
      ...deps,
      log,
      settings: () => settings,
      ownListeners: () => ownListeners,
    });
    void validators.attempt(task).then((outcome) => say({ id, outcome }));
  });
}
