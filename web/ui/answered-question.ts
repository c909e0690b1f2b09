/** Which question an answer belongs to, where the last one stays while the next is awaited. */

import { useEffect, useRef } from "preact/hooks";
import type { Reply } from "#web/api.ts";
import { unasked } from "./asked.tsx";

/** What was asked when the reply came that is known now; `asked` is what is asked by now. */
export function useAnsweredQuestion(reply: Reply<unknown> | undefined, asked: string): string {
  const latest = useQueryOf(reply, asked);
  return isWithheld(reply) ? asked : latest;
}

/** Returns the query that was current when the response arrived. */
export function useQueryOf(response: unknown, query: string): string {
  // The last query that the effects saw, which send it. The one being rendered is not sent yet.
  const sent = useRef(query);
  const latest = useRef({ response, query });
  if (latest.current.response !== response) latest.current = { response, query: sent.current };
  useEffect(() => {
    sent.current = query;
  }, [query]);
  return latest.current.query;
}

/** What is refused before it is asked is refused whatever the question. */
const isWithheld = (reply: Reply<unknown> | undefined): boolean =>
  reply?.kind === "refused" && reply.refusal.code === unasked;
