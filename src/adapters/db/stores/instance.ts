/** Named texts of the instance in the database. */

import type { InstanceReads, InstanceWrites } from "#domain/store.ts";
import { selector, type Connection } from "#adapters/db/engine/connection.ts";

/** Instance values as last committed. */
export function instanceReads(connection: Connection): InstanceReads {
  const named = selector(connection, connection.t.instance, "where name = %1");
  return { value: async (name) => (await named([name]))[0]?.value };
}

/** Instance value writes of a unit; a name that exists is overwritten. */
export function instanceWrites(connection: Connection): InstanceWrites {
  const { db, t } = connection;
  const { value } = instanceReads(connection);
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
