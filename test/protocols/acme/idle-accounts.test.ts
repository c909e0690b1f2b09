/** Accounts that came to nothing go in the end, and none that a client still needs. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { join } from "node:path";

import { openStore } from "#adapters/db/open.ts";
import { systemRandom } from "#adapters/system.ts";
import { addSeconds, instant, secondsPerDay } from "#core/time.ts";
import { IdleAccounts, stirred } from "#domain/acme/idle-accounts.ts";
import { type AcmeClient, bodyOf, refusalOf } from "#test/support/acme/client.ts";
import { newKey, type SigningKey } from "#test/support/acme/keys.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { noon } from "#test/support/stores/records.ts";

let world: AcmeWorld;
beforeAll(async () => {
  world = await AcmeWorld.start();
}, 30_000);
afterAll(() => world.stop());

const file = () => join(world.instance.dataDir, "pkid.db");

/** What the row of the account says, read behind the server's back. */
function idleSince(client: AcmeClient): number | null {
  const database = new Database(file(), { readonly: true });
  const id = client.kid?.split("/").at(-1) ?? "";
  const row = database.query("select idle_since from acme_accounts where id = ?").get(id);
  database.close();
  // As the query names it.
  return (row as { idle_since: number | null }).idle_since;
}

/** Runs the job as it would run in so many days. */
async function runIn(days: number): Promise<void> {
  const clock = { now: () => addSeconds(instant(Date.now()), days * secondsPerDay) };
  const options = { driver: "sqlite", path: file(), busy_timeout_ms: 5000 } as const;
  const store = await openStore(options, { clock, random: systemRandom });
  const config = () => ({ acme: { idle_account_days: 365 } });
  await new IdleAccounts({ store, clock, config }).run();
  await store.close();
}

test("an order of an account that was removed meanwhile is refused as one of nobody's", async () => {
  const store = createMemoryStore();
  const gone = make.account({ idleSince: noon });
  const order = store.atomically((tx) => stirred(tx, gone, noon));
  await expect(order).rejects.toMatchObject({ code: "acme_account_unknown" });
  const kept = make.account();
  await store.atomically((tx) => stirred(tx, kept, noon));
});

const fetchAccount = (client: AcmeClient) => client.post(client.kid ?? "", {});

test("who never had a certificate, and who has ended, is forgotten after a year; others are not", async () => {
  const keys = { bare: newKey(), trying: newKey(), served: newKey(), over: newKey() };
  const entered = (key: SigningKey) => world.client(key);
  const bare = await entered(keys.bare);
  const trying = await entered(keys.trying);
  const before = idleSince(trying) ?? 0;
  expect((await trying.order([world.name()])).status).toBe("pending");
  expect(idleSince(trying)).toBeGreaterThan(before);
  const served = await entered(keys.served);
  await served.obtain([world.name()], world.show);
  expect([idleSince(bare) === null, idleSince(served)]).toEqual([false, null]);
  const over = await entered(keys.over);
  expect((await over.post(over.kid ?? "", { status: "deactivated" })).status).toBe(200);
  expect(idleSince(over)).not.toBeNull();

  await world.instance.stop();
  await runIn(364);
  await runIn(366);
  await world.startAgain();
  expect(refusalOf(await fetchAccount(bare))).toBe("400 accountDoesNotExist");
  expect(refusalOf(await bare.post(`${world.base}/acme/new-order`, {}))).toBe(
    "400 accountDoesNotExist",
  );
  // Its order is there still, and goes before it does.
  expect((await fetchAccount(trying)).status).toBe(200);
  expect((await fetchAccount(served)).status).toBe(200);
  expect(bodyOf(await fetchAccount(served))).toMatchObject({ status: "valid" });
  // Their keys begin anew.
  for (const key of [keys.bare, keys.over]) {
    const again = await world.client(key);
    expect([bare.kid, over.kid]).not.toContain(again.kid);
  }
}, 60_000);
