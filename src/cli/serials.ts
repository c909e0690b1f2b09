/** Reads a file of serials, one per line, in the one spelling the caller says it has. */

import { selectReading, type Serial, readSerial, type SerialFormat } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";

import { Failure, UsageError } from "./failure.ts";
import { type Io, readTextArgument } from "./io.ts";

/**
 * Converts the value of a flag to the serial that the API reads, in decimal if the user specifies a
 * base. Refuses a value outside that base.
 */
export function toSerialValue(
  text: string | undefined,
  format: SerialFormat | undefined,
): string | undefined {
  if (text === undefined || format === undefined) return text;
  try {
    return selectReading(readSerial(text), format);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new UsageError(`${text} is not a serial in ${format}.`);
  }
}

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
  try {
    return selectReading(readSerial(text), format);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Failure(`Line ${line} is not a serial in ${format}.`, "bad_serial");
  }
}

const serialsMax = 100_000;
/** Room for that many in the longest spelling, and comments. */
const bytesMax = 16_777_216;
