/**
 * `bun run chaos`: the long crash test; SIGKILL at random moments under issuance, revocation, bulk
 * issue and certificate transparency, with a rollover in the middle. With `--disk` instead every
 * write, sync and truncation of the store fails in turn, and the power is cut; `--disk-step=4`
 * takes every fourth.
 */

import { chaos } from "#test/support/chaos/chaos.ts";
import { everyFault, newStore, sweepFaults } from "#test/support/chaos/disk-faults.ts";
import { newFaultyDisk } from "#test/support/chaos/faulty-disk.ts";
import { createHsmToken } from "#test/support/keys/soft-token.ts";

const option = (name: string, fallback: number): number =>
  Number(process.argv.find((a) => a.startsWith(`--${name}=`))?.split("=")[1] ?? fallback);

if (process.argv.includes("--disk")) {
  const { broken, runs, stopped } = await sweepFaults({
    library: newFaultyDisk(),
    made: newStore,
    step: option("disk-step", 1),
    faults: everyFault,
    progress: (line) => console.log(line),
  });
  console.log(`${runs} operations failed in turn, ${stopped} of them ended writing until verified`);
  for (const finding of broken) console.error(`BROKEN: ${finding}`);
  process.exit(broken.length === 0 ? 0 : 1);
}

const kills = option("kills", 50);
const clients = option("clients", 32);
const hsmToken = process.argv.includes("--softhsm") ? await createHsmToken() : undefined;
console.log(`${kills} kills under ${clients} clients, ${hsmToken ? "SoftHSM" : "software"} keys`);
const report = await chaos({
  kills,
  clients,
  bulkItems: option("bulk-items", 60),
  rotateAt: Math.ceil(kills / 2),
  loadMsMax: option("load-ms", 1500),
  progress: (line) => console.log(line),
  ...(hsmToken === undefined ? {} : { options: { config: hsmToken.config, env: hsmToken.env } }),
});
hsmToken?.remove();
console.log(`${report.issued} certificates and ${report.revoked} revocations acknowledged`);
console.log(`${report.bulks} bulk issues, ${report.resumed} of them resumed after a kill`);
console.log(`${report.logged} precertificates shown to logs`);
console.log(`${report.orphans} orphaned intents named`);
for (const finding of report.broken) console.error(`BROKEN: ${finding}`);
console.log(report.broken.length === 0 ? "every guarantee kept" : `${report.broken.length} broken`);
process.exit(report.broken.length === 0 ? 0 : 1);
