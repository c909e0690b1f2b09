/** `pkid db migrate`: the whole store into another database, and its history with it. */

import { holdDirectory } from "#adapters/data-directory.ts";
import { storeAddress } from "#adapters/db/address.ts";
import { moveDatabase } from "#adapters/db/move/databases.ts";
import { openStore, type StoreOptions } from "#adapters/db/open.ts";
import { osUser, systemClock, systemRandom } from "#adapters/system.ts";
import type { MoveAsked, MoveReport } from "#cli/command.ts";
import type { Config } from "#config/schema.ts";
import { timestamp } from "#core/time.ts";
import { mustHaveDatabase } from "./founded.ts";
import { useProxy } from "./proxy.ts";
import { openSecrets } from "./secrets.ts";

/**
 * Moves the database of `config` to the one that `to` names, under the lock of the data directory.
 * Throws `NoInstance` where there is no SQLite database to move; what keeps it from being moved is
 * a sentence.
 */
export async function move(config: Config, to: Config, asked: MoveAsked): Promise<MoveReport> {
  const secrets = openSecrets(config);
  await useProxy(config, secrets);
  const [from, target] = [
    await storeAddress(config, secrets),
    await storeAddress(to, openSecrets(to), true),
  ];
  if (placeOf(from) === placeOf(target)) {
    throw new Error("Both configurations name the same database; nothing was done.");
  }
  mustHaveDatabase(from);
  const directory = holdDirectory(config.data_dir);
  try {
    const at = timestamp(systemClock.now());
    const request = { from, to: target, at, random: systemRandom };
    const { tables, heads } = await moveDatabase({ ...request, ...asked });
    if (heads !== undefined && asked.only === undefined) await recorded(from, target, heads);
    const report = { from: from.driver, to: target.driver, tables };
    return { ...report, event_seq: heads?.eventSeq, ledger_number: heads?.ledgerNumber };
  } finally {
    directory.release();
  }
}

/** The first event of the history that goes on there. */
async function recorded(
  from: StoreOptions,
  to: StoreOptions,
  heads: { readonly eventSeq: number; readonly ledgerNumber: number },
): Promise<void> {
  const store = await openStore(to, { clock: systemClock, random: systemRandom });
  try {
    const user = osUser();
    const { eventSeq: seq, ledgerNumber: ledger_number } = heads;
    const detail = { from: from.driver, to: to.driver, seq, ledger_number };
    const draft = { action: "system.move", result: "success", actor: `local:${user}` } as const;
    const event = { ...draft, actorName: user, detail };
    await store.atomically((tx) => tx.audit.appendEvent(event, systemClock.now()));
  } finally {
    await store.close();
  }
}

const placeOf = (address: StoreOptions): string =>
  address.driver === "sqlite" ? address.path : address.dsn;
