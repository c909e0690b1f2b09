/** States in rows: those a port knows are legal, others are not, and no table is left out. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { getTableConfig } from "drizzle-orm/sqlite-core";

import { sqliteKit } from "#adapters/db/tables/kit.ts";
import { promisingTables, rowRules } from "#adapters/db/tables/row-rules.ts";
import { defineTables } from "#adapters/db/tables/schema.ts";
import { approvalStatuses } from "#core/approvals/classes.ts";
import { replacementStates } from "#domain/acme/replacement-store.ts";
import {
  accountStates,
  authorizationStates,
  challengeStates,
  orderStates,
} from "#domain/acme/store.ts";
import { decisions } from "#domain/approvals/store.ts";
import { caStatuses } from "#domain/authorities/store.ts";
import { settledStates, storedStatuses } from "#domain/certificates/store.ts";
import { kekStatuses } from "#domain/envelopes/store.ts";
import { bulkStates } from "#domain/revocation/bulk-store.ts";
import { crlKinds } from "#domain/revocation/store.ts";
import { tenantStatuses } from "#domain/tenants/store.ts";
import { inclusionStatuses } from "#domain/transparency/store.ts";

/** Columns that hold a word, and the port whose word it is. */
const ports: Readonly<Record<string, readonly string[]>> = {
  "cas.status": caStatuses,
  "certificates.status": storedStatuses,
  "intents.state": settledStates,
  "crl_heads.kind": crlKinds,
  "bulk_runs.state": bulkStates,
  "approvals.status": approvalStatuses,
  "approval_decisions.decision": decisions,
  "acme_accounts.status": accountStates,
  "acme_orders.status": orderStates,
  "acme_authorizations.status": authorizationStates,
  "acme_challenges.status": challengeStates,
  "acme_replacements.state": replacementStates,
  "tenants.status": tenantStatuses,
  "kek_versions.status": kekStatuses,
  "ct_inclusions.status": inclusionStatuses,
};

test.each(Object.entries(ports))("%s may be any word of its port, and no other", (name, words) => {
  const [table = "", column = ""] = name.split(".");
  const rule = rowRules.find(
    (one) => one.table === table && one.broken.startsWith(`t.${column} not in`),
  );
  if (rule === undefined) throw new Error(`${name} has no rule`);
  const file = new Database(":memory:");
  const broken = (word: string) =>
    file.query(`select ${rule.broken} from (select ? as ${column}) t`).values(word);
  for (const word of words) expect([word, broken(word)]).toEqual([word, [[0]]]);
  expect(broken("lost")).toEqual([[1]]);
  file.close();
});

test("every column that holds a state has its words", () => {
  const columns = Object.values(defineTables(sqliteKit)).flatMap((table) => {
    const { name, columns: its } = getTableConfig(table);
    return its
      .filter((one) => /^(status|state)$/.test(one.name))
      .map((one) => `${name}.${one.name}`);
  });
  // Answers of HTTP, and what is counted from certificates.
  const others = ["access_log.status", "certificate_counts.status"];
  expect(columns.filter((one) => !(one in ports)).sort()).toEqual(others);
  expect(
    Object.keys(ports).filter((one) => !promisingTables.includes(one.split(".")[0] ?? "")),
  ).toEqual([]);
});
