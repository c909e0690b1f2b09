/**
 * Run as a process of its own: writes units into a store as fast as it can and prints what was
 * acknowledged.
 */

import { openStore } from "#adapters/db/open.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { Problem } from "#core/problems.ts";
import { certificate, issue } from "./records.ts";
import { postgresLimits } from "./stores.ts";

const [target, workers] = [String(process.argv[2]), Number(process.argv[3])];
const options = target.startsWith("postgres:")
  ? ({ driver: "postgres", dsn: target, ...postgresLimits, migrate: false } as const)
  : ({ driver: "sqlite", path: target, busy_timeout_ms: 5000 } as const);
const store = await openStore(options, { clock: systemClock, random: systemRandom });
// As for a list of revoked certificates: a connection of its own comes and goes.
await store.read.revocations.view(async () => {});

async function work(): Promise<never> {
  for (;;) {
    const row = certificate();
    try {
      await issue(store, row);
      console.log(`issued ${row.serial}`);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      console.log(`refused ${error.code}`);
      await Bun.sleep(20);
    }
  }
}

await Promise.all(Array.from({ length: workers }, work));
