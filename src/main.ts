/** Command line in, exit code out; the same binary is also the signer process and its workers. */

import "reflect-metadata";

if (!Bun.isMainThread) {
  const { runSignerWorker } = await import("#adapters/keys/signer/main.ts");
  await runSignerWorker();
} else if (process.argv[2] === "signer") {
  const { runSigner } = await import("#adapters/keys/signer/main.ts");
  await runSigner({ workerUrl: import.meta.url });
} else {
  const { runShell } = await import("#app/shell.ts");
  process.exitCode = await runShell(process.argv.slice(2));
  // What a command leaves open must not keep the shell waiting.
  process.exit();
}
