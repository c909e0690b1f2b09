/** Certificates of before their digests were indexed are found by them, and only by their own. */

import { describe, expect, setDefaultTimeout, test } from "bun:test";

import { sha256Hex } from "#core/crypto.ts";
import { caId } from "#core/ids.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Store } from "#domain/store.ts";
import { bothDatabases } from "#test/support/stores/both.ts";
import { withoutDayCounts } from "#test/support/stores/day-counts.ts";
import * as make from "#test/support/stores/records.ts";
import type { DatabaseUnderTest } from "#test/support/stores/stores.ts";

setDefaultTimeout(60_000);

describe.each(bothDatabases())("on %s", (_, create) => {
  test("every row gets what a new one has, wherever its octets are", async () => {
    const database = await create();
    const filled = await filledStore(database);
    await filled.close();
    const heads = "select serial, digest_head from certificates order by ordinal";
    const before = await database.query(heads);
    await asBefore(database);

    const store = await database.open();
    expect(await database.query(heads)).toEqual(before);
    for (const row of [first, archived]) expect(await found(store, row)).toEqual([row.serial]);
    expect(await found(store, pruned)).toEqual([]);
    await make.issue(store, later);
    expect(await found(store, later)).toEqual([later.serial]);
    await store.close();
  });

  test("a digest that begins as another does finds its own certificate alone", async () => {
    const database = await create();
    await (await filledStore(database)).close();
    const head = `select digest_head from certificates where serial = '${first.serial}'`;
    await database.tamper(`update certificates set digest_head = (${head})`);
    const store = await database.open();
    expect(await found(store, first)).toEqual([first.serial]);
    // What the index does not say of it is not found, as the proofs tell.
    expect(await found(store, second)).toEqual([]);
    await store.close();
  });
});

const home = caId("home");
const one = (at: number): CertificateRecord =>
  make.certificate({ caId: home, certificate: new TextEncoder().encode(`certificate ${at}`) });
/** More than are filled at once. */
const others = Array.from({ length: 600 }, (_, at) => one(at));
const [first, second, later] = [one(-3), one(-4), one(-5)];
const rows = [first, second, ...others];
const [archived, pruned] = [one(-1), one(-2)];

async function filledStore(database: DatabaseUnderTest) {
  const store = await database.open();
  for (const row of [...rows, archived, pruned]) await make.issue(store, row);
  await store.atomically(({ retention }) =>
    retention.archive(home, [archived.serial, pruned.serial], make.noon),
  );
  await store.atomically(({ retention }) => retention.prune(home, [pruned.serial]));
  return store;
}

/** As the binary before this one left it. */
async function asBefore(database: DatabaseUnderTest): Promise<void> {
  await withoutDayCounts(database);
  await database.tamper("drop index certificates_digest");
  await database.tamper("alter table certificates drop column digest_head");
  await database.tamper("delete from schema_migrations where version > 10");
}

async function found(store: Store, row: CertificateRecord) {
  const sha256 = sha256Hex(row.certificate);
  const page = await store.read.certificates.page({ caId: home, now: make.noon, sha256 }, 10);
  expect(page.total).toBe(page.items.length);
  return page.items.map(({ serial }) => serial);
}
