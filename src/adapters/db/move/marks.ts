/** What says that a database was moved away, or is a copy that is not finished. */

import { eq } from "drizzle-orm";

import type { Connection } from "#adapters/db/engine/connection.ts";
import { StoreUnfit } from "#adapters/db/engine/faults.ts";

/** Values of the instance that no store sets. */
export const markNames = { moved: "moved", unfinished: "unfinished_move" } as const;
type MarkName = (typeof markNames)[keyof typeof markNames];

/** Throws `StoreUnfit` for a database that a move has left, or not finished. */
export async function refuseMoved(reader: Connection): Promise<void> {
  await refuseUnfinished(reader);
  const moved = await markOf(reader, markNames.moved);
  if (moved === undefined) return;
  throw new StoreUnfit(
    "moved",
    `This database was moved ${moved}, and its history goes on there. Configure that one.`,
  );
}

/** Throws it for a copy that is not finished. */
export async function refuseUnfinished(reader: Connection): Promise<void> {
  const unfinished = await markOf(reader, markNames.unfinished);
  if (unfinished === undefined) return;
  throw new StoreUnfit(
    "moved",
    `This database is an unfinished copy, begun ${unfinished}. Drop it, and run \`pkid db migrate\` again.`,
  );
}

async function markOf({ db, t }: Connection, name: MarkName): Promise<string | undefined> {
  const [row] = await db.select().from(t.instance).where(eq(t.instance.name, name));
  return row?.value;
}

/** Sets one, within the caller's transaction. */
export async function setMark(writer: Connection, name: MarkName, text: string): Promise<void> {
  const { instance } = writer.t;
  await writer.db.delete(instance).where(eq(instance.name, name));
  await writer.db.insert(instance).values({ name, value: text });
}

/** Takes it away. */
export async function unsetMark({ db, t }: Connection, name: MarkName): Promise<void> {
  await db.delete(t.instance).where(eq(t.instance.name, name));
}

/** True for a row of a table that is one. */
export const isMark = (table: string, row: Readonly<Record<string, unknown>>): boolean =>
  table === "instance" && names.some((name) => name === row.name);

const names = Object.values(markNames);
