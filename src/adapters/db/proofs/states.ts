/** Schema, references and states: what the tables promise of their rows by themselves. */

import { StoreUnfit } from "#adapters/db/engine/faults.ts";
import {
  appliedMigrations,
  embeddedMigrations,
  pendingMigrations,
} from "#adapters/db/engine/migrations.ts";
import { getTableConfig } from "drizzle-orm/sqlite-core";

import { promisingTables, rowRules } from "#adapters/db/tables/row-rules.ts";

import type { Look } from "./look.ts";
import { asked, textOf } from "./look-rows.ts";

/** Pages, indexes and types of a SQLite file unless it is `fresh`, then what the rows promise. */
export async function proveStates(look: Look, fresh: boolean): Promise<void> {
  const { connection } = look;
  const { schema } = look.proofs;
  await migrated(look);
  if (connection.dialect === "sqlite") {
    for (const [line] of fresh ? [] : await asked(connection, "pragma integrity_check(20)")) {
      if (line !== "ok") schema.violated(`SQLite finds the file damaged: ${textOf(line)}.`);
    }
    for (const [table] of await asked(connection, "pragma foreign_key_check")) {
      schema.violated(`A row of ${textOf(table)} refers to none.`);
    }
    if (!fresh) await typed(look);
  } else {
    const unproven = "select conname from pg_constraint where not convalidated";
    for (const [name] of await asked(connection, unproven)) {
      schema.violated(`The constraint ${textOf(name)} was never validated.`);
    }
  }
  for (const table of promisingTables) await followed(look, table);
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
  for (const { named, broken, says } of rowRules.filter((rule) => rule.table === table)) {
    const text = `select t.${named} from ${table} t where ${broken} limit ${countedMax}`;
    const rows = await asked(connection, text);
    for (const [found] of rows.slice(0, namedMax)) {
      schema.violated(`${table} ${textOf(found)}: ${says}.`);
    }
    schema.alsoViolated(Math.max(0, rows.length - namedMax));
  }
}

const namedMax = 20;
const countedMax = 1000;
