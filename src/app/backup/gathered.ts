/** Puts small pieces together. */

/** The same octets in pieces of half a megabyte or a little more, the last one shorter. */
export async function* gathered(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let [some, octets]: [Uint8Array[], number] = [[], 0];
  for await (const piece of pieces) {
    some.push(piece);
    octets += piece.length;
    if (octets < gatheredOctets) continue;
    yield Buffer.concat(some);
    [some, octets] = [[], 0];
  }
  if (octets > 0) yield Buffer.concat(some);
}

const gatheredOctets = 262_144;
