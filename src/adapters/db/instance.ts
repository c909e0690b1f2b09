/** Named texts of the instance in the database. */

import { eq } from "drizzle-orm";

import type { InstanceReads, InstanceWrites } from "#domain/store.ts";
import type { Session } from "./session.ts";

/** Instance values as last committed. */
export function instanceReads({ db, t }: Session): InstanceReads {
  return {
    value: async (name) => {
      const [row] = await db.select().from(t.instance).where(eq(t.instance.name, name));
      return row?.value;
    },
  };
}

/** Instance value writes of a unit; a name that exists is overwritten. */
export function instanceWrites({ db, t }: Session): InstanceWrites {
  return {
    setValue: async (name, value) => {
      await db
        .insert(t.instance)
        .values({ name, value })
        .onConflictDoUpdate({ target: t.instance.name, set: { value } });
    },
  };
}
