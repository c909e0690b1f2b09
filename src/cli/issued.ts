/** How a certificate that was issued is written: to stdout or a file, with its intermediates when asked for. */

import { toggle, value } from "./args.ts";
import type { Invocation } from "./command.ts";
import { writeResult } from "./io.ts";
import { type Row, textAt } from "./rows.ts";

/** Flags of commands that give a certificate. */
export const outArgs = {
  out: value("File to write instead of stdout.", "file"),
  chain: toggle("Append the intermediates."),
};

/** Prints the answer of an issue. */
export function printIssued(invocation: Invocation<typeof outArgs>, issued: Row): void {
  const { args, globals, io, print, note } = invocation;
  const pem = textAt(issued, args.chain ? "chain" : "certificate");
  if (args.out !== undefined && args.out !== "-") writeResult(io, args.out, pem);
  else if (!globals.json) writeResult(io, undefined, pem);
  if (globals.json) print(issued, "");
  note(`Serial ${textAt(issued, "serial")}, valid until ${textAt(issued, "not_after")}.`);
}
