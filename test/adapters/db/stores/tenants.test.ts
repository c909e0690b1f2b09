/** What a reservation reads: parts of indexes, whatever the size of the inventory. */

import { expect, test } from "bun:test";

import { usedQuery } from "#adapters/db/stores/tenants.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";

test("what counts against a quota is found in indexes, and no table is walked", async () => {
  const database = sqliteDatabase();
  await (await database.open()).close();
  const asked = usedQuery({ dialect: "sqlite" }).replaceAll("?", "1");
  const rows = await database.query(`explain query plan ${asked}`);
  const plan = rows.map((row) => String(Reflect.get(Object(row), "detail")));
  const walked = plan.filter((step) => /^SCAN (certificates|cas|tenant_counts)\b/.test(step));
  expect(walked).toEqual([]);
  expect(plan.filter((step) => step.includes("intents"))).toEqual(["SCAN open_intents"]);
  const living = plan.filter((step) => step.startsWith("SEARCH certificates"));
  expect(living).toHaveLength(2);
  for (const step of living) {
    expect(step).toContain("certificates_expiry (ca_id=? AND kind=? AND status=? AND not_after>?");
  }
});
