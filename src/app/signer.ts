/** The signer process, put together: key providers, and the servers that keep what unlocks them. */

import { runSigner } from "#adapters/keys/signer/main.ts";
import { fetchRemote } from "./secrets.ts";

/**
 * Serves until the server that started this process is gone; `workerUrl` is the main module, for
 * threads.
 */
export const runKeySigner = (workerUrl: string): Promise<void> =>
  runSigner({ workerUrl, fetchSecret: fetchRemote });
