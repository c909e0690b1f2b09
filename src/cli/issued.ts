/**
 * How a certificate that was issued is written: to stdout or a file, with its intermediates when
 * asked for.
 */

import { toggle, value } from "./args.ts";
import type { Answer } from "./client.ts";
import type { Invocation } from "./command.ts";
import { openOut } from "./out-file.ts";
import { textAt } from "./rows.ts";

/** Flags of commands that give a certificate. */
export const outArgs = {
  out: value("File to write instead of stdout.", "file"),
  chain: toggle("Append the intermediates."),
};

type Issued = Answer<"cert.issue"> | Answer<"approval.certificate">;

/**
 * Looks at where the certificate is to go, and gives what prints the answer of an issue. Called
 * before anything is asked, so that nothing is issued that cannot be kept.
 */
export function issuedPrinter(invocation: Invocation<typeof outArgs>): (issued: Issued) => void {
  const { args, globals, io, print, note } = invocation;
  const out = openOut(io, args.out, "a certificate");
  const toFile = args.out !== undefined && args.out !== "-";
  return (issued) => {
    // What has been issued is told before the file is written, which can still fail.
    note(`Serial ${textAt(issued, "serial")}, valid until ${textAt(issued, "not_after")}.`);
    if (globals.json) print(issued, "");
    if (toFile || !globals.json) out(textAt(issued, args.chain ? "chain" : "certificate"));
  };
}
