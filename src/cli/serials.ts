/** Reads a file of serials, one per line, in the one spelling the caller says it has. */

import { parseSerial, type Serial } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";

import { Failure } from "./failure.ts";
import { type Io, readTextArgument } from "./io.ts";

/**
 * How the serials of a file are written; decimal digits may be hexadecimal ones, so it is never
 * guessed.
 */
export type SerialFormat = "decimal" | "hex";

/**
 * The serials of a file in their order, repeated ones once; empty lines and those that begin with
 * `#` say nothing. Hex may have `0x` or colons. Fails with the number of the line that is no
 * serial, and for more than 100,000.
 */
export async function readSerials(
  io: Io,
  file: string,
  format: SerialFormat,
): Promise<readonly Serial[]> {
  const lines = (await readTextArgument(io, file, bytesMax)).split(/\r?\n/);
  const serials = new Set<Serial>();
  for (const [at, line] of lines.entries()) {
    const text = line.trim();
    if (text !== "" && !text.startsWith("#")) serials.add(serialOf(text, format, at + 1));
  }
  if (serials.size === 0) throw new Failure(`${file} has no serial.`);
  if (serials.size > serialsMax) {
    throw new Failure(`${file} has ${serials.size} serials; at most ${serialsMax} go at once.`);
  }
  return [...serials];
}

function serialOf(text: string, format: SerialFormat, line: number): Serial {
  const spelled = format === "decimal" ? decimal.test(text) : hex.test(text);
  if (!spelled) throw new Failure(`Line ${line} is not a serial in ${format}.`, "bad_serial");
  try {
    return parseSerial(format === "decimal" ? text : `0x${text.replace(/^0x|:/gi, "")}`);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Failure(`Line ${line} is not a serial in ${format}.`, "bad_serial");
  }
}

const decimal = /^\d+$/;
const hex = /^(0x[0-9a-f]+|[0-9a-f]+|[0-9a-f]{2}(:[0-9a-f]{2})+)$/i;
const serialsMax = 100_000;
/** Room for that many in the longest spelling, and comments. */
const bytesMax = 16_777_216;
