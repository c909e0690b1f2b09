/** Every row of a collection that the caller may see, however many: one page after another. */

import type { Answers, Questions } from "#api/answers.ts";
import type { ListEnvelope } from "#api/pages.ts";
import { ask, type Credential, type Reply, replied } from "#web/api.ts";
import type { ListName, RowOf } from "./list.tsx";

/**
 * The pages as they come, newest rows first, with as many rows as the interface gives at once.
 * Where one cannot be had its refusal is the last thing given.
 */
export async function* listPages<Name extends ListName>(
  name: Name,
  members: Omit<Questions[Name], "limit" | "cursor">,
  credential: Credential,
  signal: AbortSignal,
): AsyncGenerator<Reply<Answers[Name]>, undefined> {
  for (let cursor: string | undefined, more = true; more; ) {
    // Every collection that has pages takes both.
    const asked = { ...members, limit: rowsMax, cursor } as unknown as Questions[Name];
    const reply = await replied(ask(name, asked, credential, signal));
    if (signal.aborted) return undefined;
    yield reply;
    // `Name` is a collection, so its answer is one.
    const page = reply.kind === "answered" ? (reply.answer as ListEnvelope<unknown>) : undefined;
    more = page?.has_more === true;
    cursor = page?.next_cursor;
  }
  return undefined;
}

/**
 * The first row that `isWanted`; undefined where there is none, and the refusal where a page before
 * it cannot be had.
 */
export async function foundRow<Name extends ListName>(
  pages: AsyncIterable<Reply<Answers[Name]>>,
  isWanted: (row: RowOf<Name>) => boolean,
): Promise<Reply<RowOf<Name> | undefined>> {
  for await (const page of pages) {
    if (page.kind !== "answered") return page;
    const { items } = page.answer as ListEnvelope<RowOf<Name>>; // `Name` is a collection.
    const found = items.find(isWanted);
    if (found !== undefined) return { kind: "answered", answer: found };
  }
  return { kind: "answered", answer: undefined };
}

/** One page of the interface. */
export const rowsMax = 500;
