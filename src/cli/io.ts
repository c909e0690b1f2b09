/**
 * What a command may touch of the shell that called it: two outputs, standard input, files named by
 * arguments.
 */

import { closeSync, createReadStream, openSync, readSync, writeFileSync } from "node:fs";

import { Failure } from "./failure.ts";

/** One output; a terminal may be given colour, a pipe never. */
export interface Output {
  /**
   * Returns when everything is written. What keeps standard output from being written ends the
   * command.
   */
  write(content: string | Uint8Array): void;
  readonly isTerminal: boolean;
  /** Characters in a line of the terminal; undefined for a pipe or a file, where nothing is cut. */
  readonly columns?: number | undefined;
}

/** The shell around a command; tests hold one that only remembers. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  /**
   * True when nobody reads standard output any more, as behind `| head`: writing would tell, but
   * whoever waits has nothing to write.
   */
  isAbandoned(): boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The whole of standard input, as octets. */
  stdin(): Promise<Uint8Array>;
  /** The same piece by piece, for what may be of any length. */
  stdinPieces(): AsyncIterable<Uint8Array>;
  /**
   * Asks the person at the terminal and gives the line typed, empty at its end; absent where nobody
   * can be asked.
   */
  readonly ask: ((question: string) => Promise<string>) | undefined;
}

/**
 * The octets of a file argument; `-` is standard input. Fails for a file that cannot be read or is
 * over `max` octets.
 */
export async function readArgument(io: Io, file: string, max = bytesMax): Promise<Uint8Array> {
  const octets = file === "-" ? await io.stdin() : readFile(file, max);
  if (octets.length > max) throw new Failure(`${file} is larger than ${max / 1_048_576} MiB.`);
  return octets;
}

/**
 * The octets of a file argument of any length, piece by piece; `-` is standard input. Fails for a
 * file that cannot be read.
 */
export async function* argumentPieces(io: Io, file: string): AsyncGenerator<Uint8Array> {
  if (file === "-") return void (yield* io.stdinPieces());
  try {
    yield* createReadStream(file, { highWaterMark: pieceMax });
  } catch (error) {
    throw new Failure(`${file} cannot be read: ${errorCode(error)}.`);
  }
}

/** Text of a file argument, with the limits of `readArgument`. */
export const readTextArgument = async (io: Io, file: string, max = bytesMax): Promise<string> =>
  new TextDecoder().decode(await readArgument(io, file, max));

/** Writes a file with this mode. Fails when it cannot. */
export function writeFile(file: string, content: string | Uint8Array, mode: number): void {
  try {
    writeFileSync(file, content, { mode });
  } catch (error) {
    throw new Failure(`${file} cannot be written: ${errorCode(error)}.`);
  }
}

/** Writes a file that was not there, readable by nobody else. Fails for one that is. */
export function writeNewFile(file: string, content: string | Uint8Array): void {
  try {
    writeFileSync(file, content, { mode: 0o600, flag: "wx", flush: true });
  } catch (error) {
    const code = errorCode(error);
    throw code === "EEXIST"
      ? fileIsThere(file)
      : new Failure(`${file} cannot be written: ${code}.`);
  }
}

/** The refusal to replace a file, which may be anything. */
export const fileIsThere = (file: string): Failure =>
  new Failure(`${file} exists; name another file.`, "already_exists", { file });

/** At most one octet more than `max`: a device, or a file that grows, has no end. */
function readFile(file: string, max: number): Uint8Array {
  let opened: number | undefined;
  try {
    opened = openSync(file, "r");
    const pieces: Uint8Array[] = [];
    for (let length = 0; length <= max; ) {
      const piece = new Uint8Array(Math.min(pieceMax, max + 1 - length));
      const read = readSync(opened, piece);
      if (read === 0) break;
      pieces.push(piece.subarray(0, read));
      length += read;
    }
    return new Uint8Array(Buffer.concat(pieces));
  } catch (error) {
    throw new Failure(`${file} cannot be read: ${errorCode(error)}.`);
  } finally {
    if (opened !== undefined) closeSync(opened);
  }
}

const errorCode = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "unknown";

const bytesMax = 4_194_304;
const pieceMax = 1_048_576;
