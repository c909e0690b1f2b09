/**
 * Shows what an operation answers: waiting, refused with the reason, or the answer; lists grow page
 * by page.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Answers, Questions } from "#api/answers.ts";
import type { ListEnvelope } from "#api/pages.ts";
import { ask, type Credential, type Refusal, type Reply } from "#web/api.ts";

interface AskedProps<Name extends keyof Answers> {
  readonly name: Name;
  readonly members?: Questions[Name];
  readonly credential: Credential | undefined;
  readonly children: (answer: Answers[Name]) => ComponentChildren;
}

/** Asks once for each operation, its members and credential it is given. */
export function Asked<Name extends keyof Answers>(props: AskedProps<Name>) {
  const { name, members = {}, credential, children } = props;
  const [reply, setReply] = useState<Reply<Answers[Name]>>();
  const key = JSON.stringify(members);
  useEffect(() => {
    const stop = new AbortController();
    setReply(undefined);
    void replied(ask(name, members, credential, stop.signal)).then((come) => {
      if (!stop.signal.aborted) setReply(come);
    });
    return () => stop.abort();
    // `key` stands for the members: a caller builds a new object each time it draws.
  }, [name, key, credential]);
  if (reply === undefined) return <p class="quiet">Asking…</p>;
  return reply.answered ? children(reply.answer) : <Refused refusal={reply.refusal} />;
}

/** A refusal as the server put it, with the id under which the log knows it. */
export function Refused({ refusal }: { readonly refusal: Refusal }) {
  return (
    <p class="bad" role="alert">
      {refusal.sentence} <code>{refusal.code}</code>
      {refusal.requestId !== "" && <span class="quiet"> (request {refusal.requestId})</span>}
    </p>
  );
}

/** The refusal of a server that does not answer at all. */
export async function replied<Answer>(asked: Promise<Reply<Answer>>): Promise<Reply<Answer>> {
  try {
    return await asked;
  } catch {
    // `fetch` fails without saying why; the only thing known is that no answer came.
    const sentence = "The server does not answer.";
    return { answered: false, refusal: { status: 0, code: "no_answer", sentence, requestId: "" } };
  }
}

type ListName = {
  [Name in keyof Answers]: Answers[Name] extends ListEnvelope<unknown> ? Name : never;
}[keyof Answers];

interface PagesProps<Name extends ListName> {
  readonly name: Name;
  readonly members?: Questions[Name];
  readonly credential: Credential | undefined;
  readonly children: (answer: Answers[Name]) => ComponentChildren;
}

/** A collection one page at a time, with a way on and a way back to the newest. */
export function Pages<Name extends ListName>({ members, ...rest }: PagesProps<Name>) {
  const [cursor, setCursor] = useState("");
  const page = { limit: 50, ...(cursor === "" ? {} : { cursor }) };
  const paged = { ...members, ...page } as Questions[Name]; // Every collection takes both.
  return (
    <Asked name={rest.name} members={paged} credential={rest.credential}>
      {(answer) => (
        <>
          {rest.children(answer)}
          <p>
            <button type="button" disabled={cursor === ""} onClick={() => setCursor("")}>
              Newest
            </button>{" "}
            <button
              type="button"
              disabled={!answer.has_more}
              onClick={() => setCursor(answer.next_cursor)}
            >
              Older
            </button>{" "}
            <span class="quiet">{answer.total} in all</span>
          </p>
        </>
      )}
    </Asked>
  );
}
