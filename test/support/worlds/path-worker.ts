/**
 * The main module of a thread of paths, for tests of the sources; asked for an endless certificate
 * it works for ever.
 */

import { parentPort } from "node:worker_threads";

import { runPathJob } from "#adapters/paths/job.ts";

parentPort?.on("message", ({ certificate }: { readonly certificate?: string }) => {
  if (certificate === "endless") for (;;);
  if (certificate === "crash") process.exit(7);
});
runPathJob();
