/** Named texts of the instance in the database. */

import { eq } from "drizzle-orm";

import type { InstanceReads, InstanceWrites } from "#domain/store.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";

/** Instance values as last committed. */
export function instanceReads({ db, t }: Connection): InstanceReads {
  return {
    value: async (name) => {
      const [row] = await db.select().from(t.instance).where(eq(t.instance.name, name));
      return row?.value;
    },
  };
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
