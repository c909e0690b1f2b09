/**
 * Run as a process of its own on a disk that fails: issues and revokes, closes and reopens, and
 * prints what was acknowledged.
 */

import { openStore } from "#adapters/db/open.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { Problem } from "#core/problems.ts";
import type { Store } from "#domain/store.ts";
import { certificate, draft, issue, noon } from "#test/support/stores/records.ts";

const [target, rounds, wanted] = [String(process.argv[2]), ...process.argv.slice(3).map(Number)];
const options = { driver: "sqlite", path: target, busy_timeout_ms: 1000 } as const;

/** As a service manager would: again, until it is up. */
async function opened(): Promise<Store> {
  for (;;) {
    try {
      return await openStore(options, {
        clock: systemClock,
        random: systemRandom,
        onFault: (sentence) => console.log(`told ${sentence}`),
      });
    } catch (error) {
      console.log(`not opened ${String(error)}`);
      await Bun.sleep(5);
    }
  }
}

async function acknowledged(store: Store): Promise<void> {
  const row = certificate();
  await issue(store, row);
  console.log(`issued ${row.serial}`);
  const sequence = await store.atomically(async (tx) => {
    const number = await tx.instance.add("revoked", 1);
    await tx.certificates.setStatus(row.caId, row.serial, "revoked", noon, "keyCompromise");
    await tx.audit.appendEvent(draft({ action: "cert.revoke", serial: row.serial }), noon);
    return number;
  });
  console.log(`revoked ${row.serial} ${sequence}`);
}

for (let round = 0; round < (rounds ?? 1); round++) {
  const store = await opened();
  let done = 0;
  const work = async () => {
    while (done < (wanted ?? 1)) {
      try {
        await acknowledged(store);
        done += 1;
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        console.log(`refused ${error.code}`);
        await Bun.sleep(20);
      }
    }
  };
  await Promise.all([work(), work(), work()]);
  // The last one stays open: the power goes while the store is at work.
  if (round + 1 < (rounds ?? 1)) await store.close();
}
console.log("done");
setInterval(() => {}, 1000);
