/** What a command that stays is told by signals: to end, and to look at once. */

/** A command that stays, until it is disposed of. */
export interface Staying {
  /** Settles with the exit code when the command is to end: 0 by SIGTERM, 130 by SIGINT. */
  readonly ended: Promise<number>;
  /**
   * Waits so many milliseconds, or until SIGHUP; not at all when that came since the last pause
   * began to be over.
   */
  pause(milliseconds: number): Promise<void>;
  [Symbol.dispose](): void;
}

/** Listens from now on: until then a signal does what it does to every command. */
export function staying(): Staying {
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  let wake: (() => void) | undefined;
  let isOwed = false;
  const heard = {
    SIGTERM: () => end(0),
    SIGINT: () => end(130),
    SIGHUP: () => {
      isOwed = true;
      wake?.();
    },
  };
  for (const [signal, hear] of Object.entries(heard)) process.on(signal, hear);
  return {
    ended,
    pause: async (milliseconds) => {
      const woken = Promise.withResolvers<void>();
      const timer = setTimeout(woken.resolve, milliseconds);
      wake = woken.resolve;
      if (!isOwed) await woken.promise;
      clearTimeout(timer);
      wake = undefined;
      isOwed = false;
    },
    [Symbol.dispose]: () => {
      for (const [signal, hear] of Object.entries(heard)) process.off(signal, hear);
    },
  };
}
