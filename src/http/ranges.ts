/** Which octets of an artefact a request wants (RFC 9110 §14): one range, or everything. */

/** First and last octet, both inclusive. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Reads `Range` for a body of `size` octets: undefined when everything is to be sent, because there
 * is none, it is in a form we need not understand, or names several; `"none"` when it lies outside
 * the body (416).
 */
export function byteRange(header: string | null, size: number): ByteRange | "none" | undefined {
  const found = header === null ? null : /^bytes=([0-9]{0,15})-([0-9]{0,15})$/.exec(header.trim());
  if (found === null) return undefined;
  const [, from = "", to = ""] = found;
  if (from === "" && to === "") return undefined;
  if (from === "") {
    const count = Math.min(Number(to), size);
    return count === 0 ? "none" : { first: size - count, last: size - 1 };
  }
  const first = Number(from);
  if (to !== "" && Number(to) < first) return undefined;
  if (first >= size) return "none";
  return { first, last: to === "" ? size - 1 : Math.min(Number(to), size - 1) };
}

/** The octets of a range out of pieces that start at octet `offset`. */
export async function* cut(
  pieces: AsyncIterable<Uint8Array>,
  offset: number,
  { first, last }: ByteRange,
): AsyncGenerator<Uint8Array> {
  let at = offset;
  for await (const piece of pieces) {
    const [from, to] = [Math.max(first - at, 0), Math.min(last + 1 - at, piece.length)];
    if (from < to) yield piece.subarray(from, to);
    at += piece.length;
    if (at > last) return;
  }
}
