/** Which certificates of a CA a command is about: flags that select, and the filter they make. */

import { choice, type Given, value } from "./args.ts";
import { UsageError } from "./failure.ts";
import type { Io } from "./io.ts";
import { givenFingerprint } from "./key-files.ts";
import { readSerials } from "./serials.ts";

/** The flags, for the arguments of the command. */
export const predicateArgs = {
  profile: value("Only those of a profile.", "name"),
  pattern: value("Glob over common name and names: *, ?, [set]; without case.", "glob"),
  "issued-after": value("Issued at this time or later.", "time"),
  "issued-before": value("Issued at this time or earlier.", "time"),
  "serials-file": value("Only the serials of this file, one per line; - for stdin.", "file"),
  "serial-format": choice("How the file writes them.", "format", ["decimal", "hex"]),
  "by-public-key": value(
    "Only those with a key: hex, SHA256:<base64>, or a certificate, request or key file.",
    "key",
  ),
};

/** What was given of them, read before anything is asked. */
interface Selecting {
  readonly args: Given<typeof predicateArgs>;
  readonly io: Io;
  given(name: "serial-format"): boolean;
}

/**
 * The filter that the flags make, as the API takes it; the files they name are read. Fails on
 * `--serial-format` without a file, and on what is in no file it names.
 */
export async function predicateOf({ args, io, given }: Selecting) {
  const file = args["serials-file"];
  const key = args["by-public-key"];
  if (given("serial-format") && file === undefined) {
    throw new UsageError("--serial-format is for --serials-file.");
  }
  return {
    profile: args.profile,
    pattern: args.pattern,
    issued_after: args["issued-after"],
    issued_before: args["issued-before"],
    serials: file === undefined ? undefined : await readSerials(io, file, args["serial-format"]),
    public_key_sha256: key === undefined ? undefined : await givenFingerprint(io, key),
  };
}
