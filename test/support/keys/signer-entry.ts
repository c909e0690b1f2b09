/** The main module of a signer in tests: the binary's signer role and nothing else. */

import { runSignerWorker } from "#adapters/keys/signer/worker.ts";
import { runKeySigner } from "#app/signer.ts";

if (Bun.isMainThread) await runKeySigner(import.meta.url);
else await runSignerWorker();
