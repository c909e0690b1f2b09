/** Words for the log about what only a bug or another machine explains. */

/** The stack for the log; nothing of it reaches a caller. */
export const describe = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
