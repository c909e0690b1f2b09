/**
 * Reads tar archives in the ustar format (POSIX.1-1988) member by member, as they come: only what
 * `tarHeader` writes, because what else a tar may hold (links, devices, other owners) has no
 * business in an archive that is to be restored.
 */

import { TarUnfit, tarHeader } from "./tar.ts";

/** Why something is no such archive; the message says where. */
export class TarDamaged extends Error {
  override readonly name = "TarDamaged";
}

/** One regular file. */
export interface TarMember {
  readonly name: string;
  /** Octets. */
  readonly size: number;
  /** Its content, once and to its end before the next member is asked for. */
  content(): AsyncGenerator<Uint8Array>;
}

/**
 * The members in their order. Throws `TarDamaged` for whatever `tarHeader` does not write, for an
 * archive that ends before its end and for one that goes on behind it. A content that was not read
 * to its end is passed over.
 */
export async function* tarMembers(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarMember> {
  const octets = new Octets(source);
  for (;;) {
    const block = await octets.exactly(blockBytes, "a header");
    if (isZero(block)) break;
    const { name, size } = headerOf(block);
    let left = size;
    const content = async function* () {
      while (left > 0) {
        const piece = await octets.atMost(left, name);
        left -= piece.length;
        yield piece;
      }
    };
    yield { name, size, content };
    while (left > 0) left -= (await octets.atMost(left, name)).length;
    const padding = (blockBytes - (size % blockBytes)) % blockBytes;
    if (!isZero(await octets.exactly(padding, name))) {
      throw new TarDamaged(`What fills the last block of ${name} is not empty.`);
    }
  }
  if (!isZero(await octets.exactly(blockBytes, "the end"))) {
    throw new TarDamaged("The archive has no proper end.");
  }
  if (await octets.more()) throw new TarDamaged("The archive goes on behind its end.");
}

function headerOf(block: Uint8Array): { readonly name: string; readonly size: number } {
  const stated = octal(block.subarray(148, 156), "sum");
  const summed = block.reduce((sum, octet, at) => sum + (at >= 148 && at < 156 ? 0x20 : octet), 0);
  if (stated !== summed) throw new TarDamaged("A header of the archive is damaged.");
  const [rest, prefix] = [text(block.subarray(0, 100)), text(block.subarray(345, 500))];
  const name = prefix === "" ? rest : `${prefix}/${rest}`;
  const kind = block[156];
  const ustar = text(block.subarray(257, 263)) === "ustar";
  if (!ustar || kind !== regularFile) {
    throw new TarDamaged(`${JSON.stringify(name)} is no regular file of the ustar format.`);
  }
  const size = octal(block.subarray(124, 136), "size");
  const [mode, mtime] = [
    octal(block.subarray(100, 108), "mode"),
    octal(block.subarray(136, 148), "time"),
  ];
  // Every octet is what is written for these, owners and fillings too.
  if (written(name, size, mtime, mode)?.every((octet, at) => octet === block[at]) === true) {
    return { name, size };
  }
  throw new TarDamaged(`The header of ${JSON.stringify(name)} is not what pkid writes.`);
}

/** Undefined for what no header can say. */
function written(...of: Parameters<typeof tarHeader>): Uint8Array | undefined {
  try {
    return tarHeader(...of);
  } catch (error) {
    if (error instanceof TarUnfit) return undefined;
    throw error;
  }
}

/** What comes in, in pieces of any length. */
class Octets {
  readonly #source: AsyncIterator<Uint8Array>;
  #piece: Uint8Array = new Uint8Array();

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async more(): Promise<boolean> {
    while (this.#piece.length === 0) {
      const next = await this.#source.next();
      if (next.done === true) return false;
      this.#piece = next.value;
    }
    return true;
  }

  /** At least one octet. */
  async atMost(length: number, where: string): Promise<Uint8Array> {
    if (!(await this.more())) throw new TarDamaged(`The archive ends within ${where}.`);
    const piece = this.#piece.subarray(0, length);
    this.#piece = this.#piece.subarray(piece.length);
    return piece;
  }

  async exactly(length: number, where: string): Promise<Uint8Array> {
    const whole = new Uint8Array(length);
    for (let at = 0; at < length; ) {
      const piece = await this.atMost(length - at, where);
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }
}

function octal(field: Uint8Array, what: string): number {
  const digits = text(field).trim();
  if (!/^[0-7]{1,11}$/.test(digits)) throw new TarDamaged(`A ${what} in the archive is no number.`);
  return Number.parseInt(digits, 8);
}

/** A field up to its first NUL. */
function text(field: Uint8Array): string {
  const end = field.indexOf(0);
  try {
    return decoder.decode(end === -1 ? field : field.subarray(0, end));
  } catch {
    throw new TarDamaged("A name in the archive is not UTF-8.");
  }
}

const isZero = (octets: Uint8Array): boolean => octets.every((octet) => octet === 0);

const decoder = new TextDecoder("utf-8", { fatal: true });
const regularFile = 0x30;
const blockBytes = 512;
