/** Named texts of the instance in the database. */

import type { InstanceReads, InstanceWrites } from "#domain/store.ts";
import { selector, type Connection } from "#adapters/db/engine/connection.ts";
import { standingOf } from "#adapters/db/engine/owners.ts";

/** Instance values as last committed; `owner` is this store's number among the replicas. */
export const instanceReads = (connection: Connection, owner: number): InstanceReads => ({
  value: textOf(connection),
  standing: () => standingOf(connection, owner),
});

function textOf(connection: Connection): InstanceReads["value"] {
  const named = selector(connection, connection.t.instance, "where name = %1");
  return async (name) => (await named([name]))[0]?.value;
}

/** Instance value writes of a unit; a name that exists is overwritten. */
export function instanceWrites(connection: Connection): InstanceWrites {
  const { db, t } = connection;
  const value = textOf(connection);
  const setValue: InstanceWrites["setValue"] = async (name, text) => {
    await db
      .insert(t.instance)
      .values({ name, value: text })
      .onConflictDoUpdate({ target: t.instance.name, set: { value: text } });
  };
  return {
    setValue,
    add: async (name, by) => {
      // Units run one after the other, under the head row's lock where there are replicas: no sum
      // is lost.
      const sum = Number((await value(name)) ?? "0") + by;
      await setValue(name, String(sum));
      return sum;
    },
  };
}
