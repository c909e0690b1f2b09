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
