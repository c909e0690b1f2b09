/** What is shown but could not be read again: the last answer stays, and the frame says so. */

import type { Refusal, Reply } from "./api.ts";

/** What became of one question: its answer stays while asking it again fails. */
export interface Heard<Answer> {
  /** The question, so that an answer is never taken for that of another one. */
  readonly question: string | undefined;
  readonly reply: Reply<Answer>;
  /** Why the answer that is shown could not be had anew. */
  readonly stale?: Refusal;
}

/**
 * What is shown after another reply has come. A failing re-read takes nothing away, for a form may
 * stand on the answer; only a thing that is gone, or hidden from the caller by now, goes.
 */
export function heard<Answer>(
  before: Heard<Answer> | undefined,
  question: string | undefined,
  reply: Reply<Answer>,
): Heard<Answer> {
  const isAnswered = before?.question === question && before?.reply.kind === "answered";
  if (before === undefined || !isAnswered || reply.kind !== "refused") return { question, reply };
  // 401 is not among them: whoever logs in again finds what they left.
  const isGone = reply.refusal.status === 403 || reply.refusal.status === 404;
  return isGone ? { question, reply } : { question, reply: before.reply, stale: reply.refusal };
}

export interface StaleRead {
  readonly refusal: Refusal;
  readonly again: () => void;
  /** It never came, and its place on the page has no room to say so. */
  readonly isMissing?: boolean;
}

/** Those of the page that is open; its listeners are told of every change. */
export class StaleReads {
  readonly #reads = new Set<StaleRead>();
  readonly #listeners = new Set<() => void>();

  /** Known until the function that is given back is called. */
  add(read: StaleRead): () => void {
    this.#reads.add(read);
    this.#tell();
    return () => {
      this.#reads.delete(read);
      this.#tell();
    };
  }

  get all(): readonly StaleRead[] {
    return [...this.#reads];
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
