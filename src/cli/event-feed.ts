/** New events as they come: asks for the list again and again, and tells what was not in it. */

import type { Answer, Client, Members } from "./client.ts";
import { Failure, Refusal } from "./failure.ts";
import { type ItemIn, rowsAt, textAt } from "./rows.ts";

export type EventRow = ItemIn<Answer<"event.list">, "items">;

/** What selects events, as the list takes it. */
export type EventQuery = Omit<Members<"event.list">, "limit" | "cursor">;

export interface FeedDeps {
  readonly client: Pick<Client, "ask">;
  /**
   * Resolves when it is time to ask again, told how many milliseconds the last round took; what it
   * throws ends the feed.
   */
  readonly pause: (tookMs: number) => Promise<void>;
  /** Told once when the server cannot be asked any more; the feed goes on when it can. */
  readonly lost: (error: Error) => void;
}

/**
 * Events that fit, oldest first and each once, in batches that are never empty: at first the
 * `newest` last ones, then what comes, without an end. What came while the server could not be
 * asked comes when it can. Throws what the first question is refused with, and later refusals that
 * asking again would not change.
 */
export async function* eventFeed(
  { client, pause, lost }: FeedDeps,
  query: EventQuery,
  newest: number | undefined,
): AsyncGenerator<readonly EventRow[]> {
  let asked = performance.now();
  const first = await pageOf(client, { ...query, limit: newest });
  let last = seqOf(first.rows[0]);
  if (first.rows.length > 0) yield first.rows.toReversed();
  for (let isLost = false; ; ) {
    await pause(performance.now() - asked);
    asked = performance.now();
    try {
      for await (const batch of newer(client, query, last)) {
        yield batch;
        last = seqOf(batch.at(-1));
      }
      isLost = false;
    } catch (error) {
      if (!passes(error)) throw error;
      if (!isLost) lost(error);
      isLost = true;
    }
  }
}

/**
 * The events behind `last`, oldest first. The list has the newest first, and more of them come at
 * any time: the way back is remembered by its cursors, which stay where they are, and only the
 * first page is kept, so that no gap is too long.
 */
async function* newer(
  client: FeedDeps["client"],
  query: EventQuery,
  last: number,
): AsyncGenerator<readonly EventRow[]> {
  const wide = { ...query, limit: pageRows };
  const head = await pageOf(client, wide);
  const cursors: string[] = [];
  for (let page = head; page.next !== "" && seqOf(page.rows.at(-1)) > last + 1; ) {
    cursors.push(page.next);
    page = await pageOf(client, { ...wide, cursor: page.next });
  }
  const unseen = (rows: readonly EventRow[]) => rows.filter((row) => seqOf(row) > last);
  for (const cursor of cursors.reverse()) {
    const rows = unseen((await pageOf(client, { ...wide, cursor })).rows);
    if (rows.length > 0) yield rows.reverse();
  }
  const rows = unseen(head.rows);
  if (rows.length > 0) yield rows.reverse();
}

async function pageOf(client: FeedDeps["client"], members: Members<"event.list">) {
  const page = await client.ask("event.list", members);
  return { rows: rowsAt(page, "items"), next: textAt(page, "next_cursor") };
}

/** 0 where there is none. */
const seqOf = (row: EventRow | undefined): number => Number(textAt(row ?? {}, "seq"));

/** True for a server that is away, starts, stops or has too much to do. */
function passes(error: unknown): error is Failure | Refusal {
  if (error instanceof Failure) return error.code === "unreachable";
  return error instanceof Refusal && (!error.isFinal || error.body.code === "rate_limited");
}

const pageRows = 500;
