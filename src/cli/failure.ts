/** How a command ends without its result: refused or failed (exit 1), or used wrongly (exit 2). */

/**
 * Something the caller asked for did not happen; `facts` are what a machine reads beside the
 * sentence.
 */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: string;
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(sentence: string, code = "failed", facts: Readonly<Record<string, unknown>> = {}) {
    super(sentence);
    this.code = code;
    this.facts = facts;
  }
}

/**
 * The command line itself is wrong: unknown command or flag, missing argument, flags that exclude
 * each other.
 */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** There is no instance where one was looked for, and whoever looked may not found one. */
export class NoInstance extends Error {
  override readonly name = "NoInstance";

  constructor() {
    super("There is no instance here.");
  }
}

/**
 * Nobody reads standard output any more, as behind `| head`: the command ends without a word (exit
 * 1).
 */
export class ReaderGone extends Error {
  override readonly name = "ReaderGone";
}

/** An error answer of the server, kept whole for `--json`. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly body: Readonly<Record<string, unknown>>;
  /**
   * True when nothing was done and nothing will be: a server in trouble, or an approved operation
   * that can be tried again, says less.
   */
  readonly isFinal: boolean;

  constructor(body: Readonly<Record<string, unknown>>, status: number) {
    super(String(body.error ?? "The server refused."));
    this.body = body;
    this.isFinal = status >= 400 && status < 500 && body.code !== "approval_failed";
  }
}
