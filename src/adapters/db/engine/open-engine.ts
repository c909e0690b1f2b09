/** Opens the engine of either dialect by itself, for those who read or write whole tables. */

import type { StoreOptions } from "#adapters/db/open.ts";

import type { Engine } from "./engine.ts";
import { toStartError } from "./faults.ts";
import { openSqlite } from "./sqlite.ts";

/** `owner` is this process's number among the stores. Throws what the store would throw. */
export async function openEngine(options: StoreOptions, owner: number): Promise<Engine> {
  if (options.driver === "sqlite") return openSqlite(options);
  const { PostgresEngine } = await import("./postgres.ts");
  const engine = new PostgresEngine(options, owner, () => {});
  try {
    await engine.connect();
    return engine;
  } catch (error) {
    await engine.close();
    throw toStartError(error);
  }
}

/** Opens an engine that only reads, also on a standby unless the options forbid it. */
export async function openForReading(options: StoreOptions): Promise<Engine> {
  if (options.driver === "sqlite") return openSqlite({ ...options, readOnly: true });
  const { PostgresEngine } = await import("./postgres.ts");
  return new PostgresEngine({ acceptsReadOnly: true, ...options }, 1, () => {});
}
