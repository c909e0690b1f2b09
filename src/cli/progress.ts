/**
 * Says how far long work has come: a line that is redrawn on a terminal, else one line every ten
 * seconds (OUT-3).
 */

import type { Io } from "./io.ts";

/**
 * Waits for `work` and tells of it meanwhile. `line` gives what there is to tell, or undefined;
 * what it throws is only progress that is not told.
 */
export async function watched<T>(
  io: Pick<Io, "stderr">,
  work: Promise<T>,
  line: () => Promise<string | undefined>,
): Promise<T> {
  const { stderr } = io;
  const drawn = stderr.isTerminal;
  let shown = false;
  const ended = Promise.withResolvers<undefined>();
  const done = work.finally(() => ended.resolve(undefined));
  done.catch(() => {}); // Whoever awaits the work learns of it below.
  for (;;) {
    const { promise, cancel } = after(drawn ? redrawMs : lineMs);
    const over = await Promise.race([ended.promise, promise]);
    cancel();
    if (over === undefined) break;
    const text = await line().catch(() => undefined);
    if (text === undefined) continue;
    stderr.write(drawn ? `\r${text}` : `${text}\n`);
    shown = true;
  }
  if (drawn && shown) stderr.write("\n");
  return await done;
}

/**
 * Waits for work that cannot say how far it has come: seconds are counted on a terminal once it
 * takes two, and wiped away when it is over; elsewhere there is a line every ten seconds.
 */
export async function patiently<T>(
  { stderr }: Pick<Io, "stderr">,
  work: Promise<T>,
  pace = { firstMs: stderr.isTerminal ? 2000 : lineMs, thenMs: stderr.isTerminal ? 1000 : lineMs },
): Promise<T> {
  const began = performance.now();
  const over = new AbortController();
  const told = (async () => {
    let wait = pace.firstMs;
    let shown = false;
    while (await elapsed(wait, over.signal)) {
      const seconds = Math.floor((performance.now() - began) / 1000);
      const text = `Working for ${seconds} s`;
      stderr.write(stderr.isTerminal ? `\r${text}` : `${text}.\n`);
      shown = true;
      wait = pace.thenMs;
    }
    if (shown && stderr.isTerminal) stderr.write(wiped);
  })();
  try {
    return await work;
  } finally {
    over.abort();
    await told;
  }
}

/** True after so long; false at once when it is over. */
function elapsed(ms: number, over: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  if (over.aborted) return Promise.resolve(false);
  const timer = setTimeout(() => resolve(true), ms);
  over.addEventListener("abort", () => {
    clearTimeout(timer);
    resolve(false);
  });
  return promise;
}

/** A bar with its figures. */
export function bar(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const filled = Math.round(share * barWidth);
  return `[${"#".repeat(filled)}${".".repeat(barWidth - filled)}] ${done} of ${total}`;
}

function after(ms: number) {
  const { promise, resolve } = Promise.withResolvers<true>();
  const timer = setTimeout(() => resolve(true), ms);
  return { promise, cancel: () => clearTimeout(timer) };
}

const barWidth = 30;
const redrawMs = 500;
const lineMs = 10_000;
/** Back to the first column, and nothing behind it (ECMA-48 EL). */
const wiped = "\r\u001b[K";
