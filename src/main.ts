/**
 * Command line in, exit code out; the same binary is also the signer process, and the threads of
 * both.
 */

if (!Bun.isMainThread) {
  const { runThread } = await import("#app/threads.ts");
  await runThread();
} else if (process.argv[2] === "signer") {
  const { runKeySigner } = await import("#app/signer.ts");
  await runKeySigner(import.meta.url);
} else {
  const { runShell } = await import("#app/shell.ts");
  process.exitCode = await runShell(process.argv.slice(2), import.meta.url);
  // What a command leaves open must not keep the shell waiting; its outputs are written before
  // their calls return.
  process.exit();
}
