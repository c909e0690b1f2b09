/**
 * PEM armour around DER (RFC 7468 §2), read strictly: one label, one block, nothing else but white
 * space.
 */

/** PEM text with lines of 64 characters and a final newline. */
export const encodePem = (label: string, der: Uint8Array): string =>
  `${pemHead(label)}${der.length === 0 ? "\n" : pemLines(der)}${pemFoot(label)}`;

/** The line before the lines of a block. */
export const pemHead = (label: string): string => `-----BEGIN ${label}-----\n`;

/**
 * Lines of at most 64 characters, each ended; of a long block any run of 48 octets times a whole
 * number is such lines.
 */
export function pemLines(der: Uint8Array): string {
  const text = der.toBase64();
  // Of a short block the lines are cut, of a long one they are written in one go.
  if (text.length > cutMax) return `${text.replace(/.{64}(?=.)/g, "$&\n")}\n`;
  let lines = "";
  for (let at = 0; at < text.length; at += 64) lines += `${text.slice(at, at + 64)}\n`;
  return lines === "" ? "\n" : lines;
}

/** The line after them. */
export const pemFoot = (label: string): string => `-----END ${label}-----\n`;

/**
 * The DER of the single block in `text` if its label is among `labels`; undefined for anything
 * else.
 */
export function decodePem(text: string, labels: readonly string[]): Uint8Array | undefined {
  const trimmed = text.trim();
  for (const label of labels) {
    const begin = `-----BEGIN ${label}-----`;
    const end = `-----END ${label}-----`;
    if (!trimmed.startsWith(begin) || !trimmed.endsWith(end)) continue;
    if (trimmed.length < begin.length + end.length) return undefined;
    return decodeBase64(trimmed.slice(begin.length, -end.length));
  }
  return undefined;
}

/**
 * The DER of every block of `label` in `text`, in order; undefined when a block is broken or there
 * are over `max`.
 */
export function decodePemBlocks(
  text: string,
  label: string,
  max: number,
): readonly Uint8Array[] | undefined {
  const begin = `-----BEGIN ${label}-----`;
  const end = `-----END ${label}-----`;
  const blocks: Uint8Array[] = [];
  let at = text.indexOf(begin);
  while (at >= 0) {
    const stop = text.indexOf(end, at);
    const block = stop < 0 ? undefined : decodeBase64(text.slice(at + begin.length, stop));
    if (block === undefined || blocks.length === max) return undefined;
    blocks.push(block);
    at = text.indexOf(begin, stop);
  }
  return blocks;
}

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
  } catch {
    // The runtime throws a SyntaxError for what is not base64: the block is unreadable, which
    // undefined says.
    return undefined;
  }
}

/** Characters: many a thousand pieces of text would have to be put together. */
const cutMax = 16_384;
