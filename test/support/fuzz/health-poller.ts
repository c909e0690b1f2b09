/**
 * Runs beside a fuzzed server, in a process of its own: asks /healthz again and again and tells how
 * long each answer took.
 */

const [url = "", caFile = "", everyMs = "20"] = process.argv.slice(2);
const ca = await Bun.file(caFile).text();
const samples: number[] = [];
let over = false;
process.once("SIGTERM", () => {
  over = true;
});
console.log("polling");
while (!over) {
  const begun = performance.now();
  try {
    const answer = await fetch(`${url}/healthz`, {
      tls: { ca },
      signal: AbortSignal.timeout(20_000),
    });
    await answer.text();
    samples.push(answer.ok ? performance.now() - begun : Number.MAX_SAFE_INTEGER);
  } catch {
    samples.push(Number.MAX_SAFE_INTEGER); // No answer is the longest one.
  }
  await Bun.sleep(Number(everyMs));
}
console.log(JSON.stringify(samples));
