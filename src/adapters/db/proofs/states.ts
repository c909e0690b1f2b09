/** Schema, references and states: what the tables promise of their rows by themselves. */

import { StoreUnfit } from "#adapters/db/engine/faults.ts";
import {
  appliedMigrations,
  embeddedMigrations,
  pendingMigrations,
} from "#adapters/db/engine/migrations.ts";
import { getTableConfig } from "drizzle-orm/sqlite-core";

import { approvalStatuses } from "#core/approvals/classes.ts";
import {
  accountStates,
  authorizationStates,
  challengeStates,
  orderStates,
} from "#domain/acme/store.ts";
import { caStatuses } from "#domain/authorities/store.ts";
import { kekStatuses } from "#domain/envelopes/store.ts";
import { tenantStatuses } from "#domain/tenants/store.ts";

import type { Look } from "./look.ts";
import { asked, textOf } from "./look-rows.ts";

/** Pages and indexes of a SQLite file, then every rule of the tables below. */
export async function proveStates(look: Look): Promise<void> {
  const { connection } = look;
  const { schema } = look.proofs;
  await migrated(look);
  if (connection.dialect === "sqlite") {
    for (const [line] of await asked(connection, "pragma integrity_check(20)")) {
      if (line !== "ok") schema.violated(`SQLite finds the file damaged: ${textOf(line)}.`);
    }
    for (const [table] of await asked(connection, "pragma foreign_key_check")) {
      schema.violated(`A row of ${textOf(table)} refers to none.`);
    }
    await typed(look);
  } else {
    const unproven = "select conname from pg_constraint where not convalidated";
    for (const [name] of await asked(connection, unproven)) {
      schema.violated(`The constraint ${textOf(name)} was never validated.`);
    }
  }
  for (const table of Object.keys(rules)) await followed(look, table);
}

/** SQLite keeps values of any type in any column; pkid writes those of the column only. */
async function typed({ connection, proofs: { schema } }: Look): Promise<void> {
  // The access log is a file of its own.
  const { accessLog: _apart, ...tables } = connection.t;
  for (const table of Object.values(tables)) {
    const { name, columns } = getTableConfig(table);
    const wrong = columns.map((column) => {
      const types = typesOf.get(column.getSQLType()) ?? [];
      const legal = column.notNull || column.primary ? types : types.concat("null");
      const list = legal.map((type) => `'${type}'`).join(", ");
      return `typeof("${column.name}") not in (${list})`;
    });
    const text = `select count(*) from "${name}" where ${wrong.join(" or ")}`;
    const [row] = await asked(connection, text);
    const count = Number(row?.[0]);
    if (count > 0) schema.violated(`${count} rows of ${name} hold values of another type.`);
  }
}

const typesOf: ReadonlyMap<string, string[]> = new Map([
  ["text", ["text"]],
  ["integer", ["integer"]],
  ["blob", ["blob"]],
]);

async function migrated({ connection, proofs }: Look): Promise<void> {
  try {
    const applied = await appliedMigrations(connection);
    const pending = pendingMigrations(embeddedMigrations(connection.dialect), applied);
    for (const { version } of pending) proofs.schema.violated(`Migration ${version} is pending.`);
  } catch (error) {
    if (!(error instanceof StoreUnfit)) throw error;
    proofs.schema.violated(error.message);
  }
}

/** The rules of one table; of each the first rows that break it are named. */
async function followed({ connection, proofs, advanced }: Look, table: string): Promise<void> {
  const { schema } = proofs;
  const [row] = await asked(connection, `select count(*) from ${table}`);
  schema.checked += Number(row?.[0]);
  advanced(0);
  for (const [name, broken, says] of rules[table] ?? []) {
    const rows = await asked(
      connection,
      `select ${name} from ${table} t where ${broken} limit ${countedMax}`,
    );
    for (const [found] of rows.slice(0, namedMax)) {
      schema.violated(`${table} ${textOf(found)}: ${says}.`);
    }
    schema.alsoViolated(Math.max(0, rows.length - namedMax));
  }
}

const words = (column: string, legal: readonly string[]): string =>
  `t.${column} not in (${legal.map((word) => `'${word}'`).join(", ")})`;

const refers = (to: string, where: string): string =>
  `not exists (select 1 from ${to} o where ${where})`;

const statusRule = (legal: readonly string[]) => ["id", words("status", legal), stateText] as const;
const stateText = "its state is none there is";
/** A CA that was deleted leaves what it signed, so these refer to one that is or was. */
const ofCa = refers("cas", "o.id = t.ca_id");

type Rule = readonly [name: string, broken: string, says: string];

/** THE RULES: what names a row, which rows break one, what is wrong with them. */
// biome-ignore format: the table is read by column.
const rules: Readonly<Record<string, readonly Rule[]>> = {
  cas: [
    statusRule(caStatuses),
    ["id", `t.parent is not null and ${refers("cas", "o.id = t.parent")}`, "its parent does not exist"],
    ["id", "t.status in ('active', 'superseded') and t.certificate is null", "it has no certificate"],
    ["id", `t.successor is not null and ${refers("cas", "o.id = t.successor")}`, "its successor does not exist"],
  ],
  certificates: [["serial", words("status", ["good", "revoked", "held"]), stateText]],
  cross_signs: [["serial", refers("certificates", "o.ca_id = t.issuer and o.serial = t.serial and o.kind = 'cross'"), "it has no certificate"]],
  intents: [["serial", words("state", ["abandoned", "orphaned"]), stateText]],
  open_intents: [["op_id", `t.number is not null and ${refers("ledger", "o.number = t.number and o.kind = 'intent' and o.op_id = t.op_id")}`, "the ledger has no such intent"]],
  responders: [["serial", refers("certificates", "o.ca_id = t.ca_id and o.serial = t.serial and o.kind = 'responder'"), "it has no certificate"]],
  crl_heads: [["number", words("kind", ["base", "delta"]), "it is neither base nor delta"], ["number", `(t.base is null) <> (t.kind = 'base')`, "it is neither base nor delta"]],
  grants: [["id", ofCa, "its CA does not exist"]],
  bulk_items: [["serial", `${refers("certificates", "o.ca_id = t.ca_id and o.serial = t.serial")}`, "it has no certificate"]],
  bulk_runs: [["id", words("state", ["selecting", "running", "stopped", "finished"]), stateText]],
  bulk_serials: [["run", refers("bulk_runs", "o.number = t.run"), "its run does not exist"]],
  approvals: [statusRule(approvalStatuses)],
  approval_decisions: [
    ["id", refers("approvals", "o.id = t.approval"), "its request does not exist"],
    ["id", words("decision", ["approve", "reject"]), stateText],
  ],
  acme_accounts: [statusRule(accountStates)],
  acme_account_keys: [["account", refers("acme_accounts", "o.id = t.account"), "its account does not exist"]],
  acme_record_ends: [["account", refers("acme_accounts", "o.id = t.account"), "its account does not exist"]],
  acme_orders: [
    statusRule(orderStates),
    ["id", refers("acme_accounts", "o.id = t.account"), "its account does not exist"],
    ["id", "(t.status = 'valid') <> (t.certificate_serial is not null)", "only a valid order has a certificate"],
  ],
  acme_order_authorizations: [
    ["order_id", refers("acme_orders", "o.id = t.order_id"), "its order does not exist"],
    ["order_id", refers("acme_authorizations", "o.id = t.authorization_id"), "its authorization does not exist"],
  ],
  acme_authorizations: [statusRule(authorizationStates)],
  acme_challenges: [
    statusRule(challengeStates),
    ["id", refers("acme_authorizations", "o.id = t.authorization_id"), "its authorization does not exist"],
  ],
  acme_replacements: [["id", words("state", ["running", "finished", "canceled"]), stateText]],
  acme_replacement_items: [["serial", refers("acme_replacements", "o.id = t.replacement"), "its plan does not exist"]],
  tenants: [statusRule(tenantStatuses)],
  kek_versions: [["version", words("status", kekStatuses), stateText]],
  ct_inclusions: [["id", refers("certificates", "o.ca_id = t.ca_id and o.serial = t.serial"), "its certificate does not exist"]],
  heads: [["id", `t.id <> 1`, "there is one head row"]],
};
const namedMax = 20;
const countedMax = 1000;
