/** A view of SQLite that has ended holds nothing: the log of the database can be emptied. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";

import { caId, parseSerial } from "#core/ids.ts";
import { revocation } from "#test/support/stores/records.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";

test("the log is emptied at once after a view was read and something written", async () => {
  const database = sqliteDatabase();
  const store = await database.open();
  const put = (digits: string) =>
    store.atomically((tx) =>
      tx.revocations.put(revocation({ caId: caId("home"), serial: parseSerial(digits) })),
    );
  await put("1");
  const listed = await store.read.revocations.view(async (view) => {
    await put("2");
    return await view.listed(caId("home"), undefined, 10, undefined);
  });
  expect(listed).toHaveLength(1);
  const other = new Database(database.target);
  other.run("pragma busy_timeout = 0");
  expect(other.query("pragma wal_checkpoint(truncate)").get()).toMatchObject({ busy: 0 });
  other.close();
  await store.close();
});
