/** Changes single bits of artifacts, so that tests can show that each change is detected. */

/**
 * Returns a copy with one bit changed.
 *
 * @param needle changed at the first digit of its first occurrence, or in its middle; if it is
 * empty, the middle of the content is changed
 * @throws {Error} if the content does not contain the needle
 */
export function flipBit(content: Uint8Array, needle: string | Uint8Array = ""): Buffer {
  const copy = Buffer.from(content);
  const found = needle.length === 0 ? 0 : copy.indexOf(needle);
  if (found < 0) throw new Error(`the content has no ${needle}`);
  const digit = typeof needle === "string" ? needle.search(/\d/) : -1;
  const middle = (needle.length || copy.length) >> 1;
  const at = found + (digit < 0 ? middle : digit);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}
