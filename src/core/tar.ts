/**
 * Writes tar archives in the ustar format (POSIX.1-1988), member by member, so that a long one need
 * never be in memory as a whole.
 */

/** A name or size the format cannot hold; nothing was written. */
export class TarUnfit extends Error {
  override readonly name = "TarUnfit";
}

/**
 * The header of a regular file; its content follows, then `tarPadding` of its size. Names have at
 * most 255 octets, of which the part behind the last slash that fits has at most 100. Throws
 * `TarUnfit` for what does not fit.
 */
export function tarHeader(
  name: string,
  size: number,
  mtimeSeconds: number,
  mode: number,
): Uint8Array<ArrayBuffer> {
  const { prefix, rest } = splitName(name);
  const block = new Uint8Array(blockBytes);
  write(block, 0, rest);
  write(block, 100, octal("mode", mode, 7, 0o7777));
  // The owner is nobody's business who unpacks it: root's numbers, and no names.
  write(block, 108, octal("uid", 0, 7, 0));
  write(block, 116, octal("gid", 0, 7, 0));
  write(block, 124, octal("size", size, 11, tarSizeMax));
  write(block, 136, octal("mtime", mtimeSeconds, 11, tarSizeMax));
  write(block, 148, encoder.encode(" ".repeat(8)));
  write(block, 156, encoder.encode("0"));
  write(block, 257, encoder.encode("ustar\u000000"));
  write(block, 345, prefix);
  // The sum is taken with the field of the sum itself blank.
  const sum = block.reduce((total, octet) => total + octet, 0);
  write(block, 148, encoder.encode(`${sum.toString(8).padStart(6, "0")}\u0000 `));
  return block;
}

/** The zeros that fill the last block of a member's content. */
export const tarPadding = (size: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array((blockBytes - (size % blockBytes)) % blockBytes);

/** What ends an archive: two blocks of zeros. */
export const tarEnd = (): Uint8Array<ArrayBuffer> => new Uint8Array(2 * blockBytes);

/** Largest content of one member: eleven octal digits. */
export const tarSizeMax = 0o77777777777;

/** The name in its two fields; only a slash may stand between them, and it is in neither. */
function splitName(name: string): { readonly prefix: Uint8Array; readonly rest: Uint8Array } {
  const octets = encoder.encode(name);
  if (octets.length === 0 || name.includes("\u0000") || name.endsWith("/")) {
    throw new TarUnfit(`${JSON.stringify(name)} is no name of a file in an archive.`);
  }
  if (octets.length <= nameBytes) return { prefix: new Uint8Array(), rest: octets };
  for (let at = Math.min(prefixBytes, octets.length - 2); at > 0; at--) {
    if (octets[at] !== slash) continue;
    const rest = octets.subarray(at + 1);
    if (rest.length <= nameBytes) return { prefix: octets.subarray(0, at), rest };
    break;
  }
  throw new TarUnfit(`${name} is too long for a name in an archive.`);
}

function octal(field: string, value: number, digits: number, max: number): Uint8Array {
  if (!Number.isSafeInteger(value) || value < 0 || value > max) {
    throw new TarUnfit(`${value} does not fit into the field ${field} of an archive.`);
  }
  return encoder.encode(value.toString(8).padStart(digits, "0"));
}

const write = (block: Uint8Array, at: number, octets: Uint8Array): void => block.set(octets, at);

const encoder = new TextEncoder();
const slash = 0x2f;
const blockBytes = 512;
const nameBytes = 100;
const prefixBytes = 155;
