/** What says that a database was moved away, or is a copy that is not finished. */

import { eq, inArray } from "drizzle-orm";

import type { Connection } from "#adapters/db/engine/connection.ts";
import { StoreUnfit } from "#adapters/db/engine/faults.ts";

/** Values of the instance that no store sets. */
const markNames = { moved: "moved", unfinished: "unfinished_move" } as const;
export type Mark = keyof typeof markNames;

/** What both marks of a move say of it: when it began tells it from every other. */
export interface Marked {
  /** As text. */
  readonly at: string;
  readonly from: string;
  readonly to: string;
}

/** What a copy is marked with until it is whole and handed over to. */
export const unfinishedText = ({ at, from }: Marked): string => `at ${at} from ${from}`;

/** What is left behind is marked with, for good. */
export const movedText = ({ at, to }: Marked): string => `at ${at} to ${to}`;

/** When the copy was begun that says this of itself. */
export const begunAt = (unfinished: string): string =>
  unfinished.slice("at ".length, unfinished.lastIndexOf(" from "));

/** Throws `StoreUnfit` for a database that a move has left, or not finished. */
export async function refuseMoved(reader: Connection): Promise<void> {
  await refuseUnfinished(reader);
  const moved = await markOf(reader, "moved");
  if (moved !== undefined) throw wasMoved(moved);
}

/** What is said of a database that was left. */
export const wasMoved = (mark: string): StoreUnfit =>
  new StoreUnfit(
    "moved",
    `This database was moved ${mark}, and its history goes on there. Configure that one; where it is an unfinished copy, \`pkid db migrate --resume\` finishes it.`,
  );

/** Throws it for a copy that is not finished. */
export async function refuseUnfinished(reader: Connection): Promise<void> {
  const unfinished = await markOf(reader, "unfinished");
  if (unfinished === undefined) return;
  throw new StoreUnfit(
    "moved",
    `This database is an unfinished copy, begun ${unfinished}. \`pkid db migrate --resume\` goes on with it.`,
  );
}

/** What the mark says; undefined where there is none. */
export async function markOf({ db, t }: Connection, mark: Mark): Promise<string | undefined> {
  const [row] = await db.select().from(t.instance).where(eq(t.instance.name, markNames[mark]));
  return row?.value;
}

/** How many rows of the table `instance` are marks. */
export async function marksIn({ db, t }: Connection): Promise<number> {
  return (await db.select().from(t.instance).where(inArray(t.instance.name, names))).length;
}

/** Sets one, within the caller's transaction. */
export async function setMark(writer: Connection, mark: Mark, text: string): Promise<void> {
  const { instance } = writer.t;
  const name = markNames[mark];
  await writer.db.delete(instance).where(eq(instance.name, name));
  await writer.db.insert(instance).values({ name, value: text });
}

/** Takes it away. */
export async function unsetMark({ db, t }: Connection, mark: Mark): Promise<void> {
  await db.delete(t.instance).where(eq(t.instance.name, markNames[mark]));
}

/** True for a row of a table that is one. */
export const isMark = (table: string, row: Readonly<Record<string, unknown>>): boolean =>
  table === "instance" && names.some((name) => name === row.name);

const names = Object.values(markNames);
