/** The main module of a signer in tests: the binary's signer role and nothing else. */

import { runSigner } from "#adapters/keys/signer/main.ts";

await runSigner({ workerUrl: import.meta.url });
