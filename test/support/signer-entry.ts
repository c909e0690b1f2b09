/** The main module of a signer in tests: the binary's signer role and nothing else. */

import { runSigner, runSignerWorker } from "#adapters/keys/signer/main.ts";

if (Bun.isMainThread) await runSigner({ workerUrl: import.meta.url });
else await runSignerWorker();
