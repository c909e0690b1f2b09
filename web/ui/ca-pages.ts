/** Every CA that the caller may see, however many there are: one page of the list after another. */

import type { Answers, Questions } from "#api/answers.ts";
import { ask, type Credential, type Reply, replied } from "#web/api.ts";

export type CaPage = Answers["ca.list"];

/**
 * The pages as they come, newest CA first. Where one cannot be had its refusal is the last thing
 * given.
 */
export async function* caPages(
  members: Omit<Questions["ca.list"], "limit" | "cursor">,
  credential: Credential,
  signal: AbortSignal,
): AsyncGenerator<Reply<CaPage>, undefined> {
  for (let cursor: string | undefined, more = true; more; ) {
    const asked = { ...members, limit: casMax, cursor };
    const reply = await replied(ask("ca.list", asked, credential, signal));
    if (signal.aborted) return undefined;
    yield reply;
    more = reply.kind === "answered" && reply.answer.has_more;
    if (reply.kind === "answered") cursor = reply.answer.next_cursor;
  }
  return undefined;
}

/** One page of the interface. */
export const casMax = 500;
