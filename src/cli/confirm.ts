/** Has a person agree before something is lost for good (OUT-2). */

import type { Command } from "./command.ts";
import { Failure, UsageError } from "./failure.ts";
import type { Io } from "./io.ts";
import { printable } from "./rows.ts";

/**
 * Returns at once for a command that destroys nothing, and when `yes` was said with it. Else asks
 * at the terminal, and fails on any other word than yes; refuses the line (exit 2) where nobody can
 * be asked.
 */
export async function confirmed(
  line: readonly string[],
  { destroys }: Pick<Command, "destroys">,
  yes: boolean,
  io: Pick<Io, "ask">,
): Promise<void> {
  if (destroys !== undefined) await agreed(`${line.join(" ")}: ${destroys}`, yes, io);
}

/**
 * Returns when `yes` was said, or the person at the terminal types it to this sentence. Fails on
 * any other word; refuses the line (exit 2) where nobody can be asked.
 */
export async function agreed(sentence: string, yes: boolean, io: Pick<Io, "ask">): Promise<void> {
  if (yes) return;
  const asked = printable(sentence);
  if (io.ask === undefined) {
    throw new UsageError(`${asked} Nobody can be asked here; --yes says that it is meant.`);
  }
  const answer = await io.ask(`${asked} Type yes to go on: `);
  if (answer.trim() !== "yes") throw new Failure("Nothing was done.", "not_confirmed");
}
