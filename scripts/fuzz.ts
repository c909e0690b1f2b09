/**
 * `bun run fuzz`: the long fuzz against the compiled binary, bounded by `--minutes`; says how long
 * /healthz took meanwhile, what held the server's thread, and every 5xx, hang and crash. `--calls`,
 * `--inputs`, `--raw`, `--seed`, `--clients`.
 */

import { fuzz } from "#test/support/fuzz/fuzz.ts";

const option = (name: string, fallback: number): number =>
  Number(process.argv.find((a) => a.startsWith(`--${name}=`))?.split("=")[1] ?? fallback);

const report = await fuzz({
  calls: option("calls", 30_000),
  inputs: option("inputs", 100_000),
  raw: option("raw", 5000),
  seed: option("seed", 1),
  clients: option("clients", 16),
  minutesMax: option("minutes", 30),
  progress: (line) => console.log(line),
});
const { healthz, holds } = report;
for (const [kind, count] of Object.entries(report.made)) console.log(`${count} ${kind}`);
const statuses = [...report.statuses].sort(([a], [b]) => a - b);
console.log(`answers: ${statuses.map(([status, count]) => `${status}: ${count}`).join(", ")}`);
const ms = (value: number) => `${value.toFixed(1)} ms`;
console.log(
  `healthz: p50 ${ms(healthz.p50)}, p99 ${ms(healthz.p99)}, longest ${ms(healthz.longest)}`,
);
console.log(`the thread was held ${holds.length} times for more than 50 ms`);
for (const { held_ms, cpu_ms, operations } of holds
  .toSorted((a, b) => b.cpu_ms - a.cpu_ms)
  .slice(0, 10)) {
  console.log(`  ${held_ms} ms, of which it worked ${cpu_ms} ms: ${operations.join(", ")}`);
}
console.log(`resident memory: ${report.residentMegabytes.toFixed(0)} MB`);
for (const finding of report.broken) console.error(`BROKEN: ${finding}`);
console.log(report.broken.length === 0 ? "nothing broke" : `${report.broken.length} broken`);
process.exit(report.broken.length === 0 ? 0 : 1);
