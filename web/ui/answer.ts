/** One question of a page, asked again as long as it is shown, and what came last. */

import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { type Credential, noAnswer, type Reply, replied } from "#web/api.ts";
import { actionsIn, useBackAgain, useConsole, useLive } from "#web/console.ts";
import { Pace } from "#web/pace.ts";
import { type Heard, heard } from "#web/stale.ts";

export interface Answering<Answer> {
  /**
   * What came last; it stays while the same or another selection is asked for, so that nothing
   * jumps, and an answer stays where asking the same again fails: the frame says so. Nothing stays
   * of another thing: whoever approves or revokes acts on what they read.
   */
  readonly reply: Reply<Answer> | undefined;
  readonly busy: boolean;
  readonly refresh: () => void;
}

export interface Question<Answer> {
  /** Says what is asked: the question of another key is another one. */
  readonly key: string;
  /** What it is about, as against which part of it is wanted. */
  readonly subject: string;
  readonly asked: (credential: Credential, signal: AbortSignal) => Promise<Reply<Answer>>;
}

/**
 * Asks when the question changes, when `refresh` is called, and when one of the `live` actions is
 * seen in the feed. Nothing is asked while there is no question.
 */
export function useAnswer<Answer>(
  question: Question<Answer> | undefined,
  live: readonly string[] = [],
): Answering<Answer> {
  const { credential, stale } = useConsole();
  const [known, setKnown] = useState<Known<Answer>>();
  const [busy, setBusy] = useState(true);
  const [round, setRound] = useState(0);
  const refresh = useCallback(() => setRound((count) => count + 1), []);
  const pace = useMemo(() => new Pace(refresh), [refresh]);
  useEffect(() => () => pace.stop(), [pace]);
  // Whoever has done something waits for what came of it, and not for an answer of before.
  useLive(live.length === 0 ? undefined : actionsIn(live), (why) =>
    why === "own" ? refresh() : pace.hear(),
  );
  useEffect(() => {
    if (question === undefined) return;
    const { key, subject, asked } = question;
    const stop = new AbortController();
    const over = pace.begin();
    setBusy(true);
    void replied(asked(credential, stop.signal)).then((come) => {
      if (stop.signal.aborted) return;
      over();
      setKnown((before) => ({ ...heard(before, key, come), subject }));
      setBusy(false);
    });
    return () => stop.abort();
    // The key stands for the question, of which a caller builds a new one each time it draws.
  }, [question?.key, credential, round]);
  // What was not answered at all is asked for again as soon as the server is back.
  const isUnanswered =
    known?.stale?.code === noAnswer.code ||
    (known?.reply.kind === "refused" && known.reply.refusal.code === noAnswer.code);
  useBackAgain(isUnanswered, refresh);
  const refusal = known?.stale;
  useEffect(
    () => (refusal === undefined ? undefined : stale.add({ refusal, again: refresh })),
    [refusal, refresh, stale],
  );
  return { reply: known?.subject === question?.subject ? known?.reply : undefined, busy, refresh };
}

interface Known<Answer> extends Heard<Answer> {
  /** What the reply is about. */
  readonly subject: string;
}
