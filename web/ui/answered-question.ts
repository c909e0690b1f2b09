/** Which question an answer belongs to, where the last one stays while the next is awaited. */

import { useEffect, useRef } from "preact/hooks";
import type { Reply } from "#web/api.ts";
import { unasked } from "./asked.tsx";

/** What was asked when the reply came that is known now; `asked` is what is asked by now. */
export function useAnsweredQuestion(reply: Reply<unknown> | undefined, asked: string): string {
  // What the effects, which ask, have seen: a reply that comes is of that, and not of what is
  // being drawn.
  const asking = useRef(asked);
  const known = useRef({ reply, question: asked });
  if (known.current.reply !== reply) known.current = { reply, question: asking.current };
  useEffect(() => {
    asking.current = asked;
  }, [asked]);
  return isWithheld(reply) ? asked : known.current.question;
}

/** What is refused before it is asked is refused whatever the question. */
const isWithheld = (reply: Reply<unknown> | undefined): boolean =>
  reply?.kind === "refused" && reply.refusal.code === unasked;
