/**
 * The payload of the age format (age-encryption.org/v1, "Payload"): 64 KiB at a time, each under
 * ChaCha20-Poly1305 and the number it has, the last one marked as the last.
 */

import { hkdfSync } from "node:crypto";

/**
 * What is inside, piece by piece; each is proven before it comes, the end too. The runtime's
 * threads decrypt, a few pieces ahead of the reader. Throws for whatever was altered, cut off or
 * added.
 */
export async function* openedPayload(
  fileKey: Uint8Array,
  cipher: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const source = cipher[Symbol.asyncIterator]();
  try {
    const chunks = new Chunks(source);
    const { octets: salt } = await chunks.next(saltOctets);
    if (salt.length < saltOctets) throw new PayloadDamaged();
    const key = await payloadKey(fileKey, salt);
    const ahead: Promise<Uint8Array>[] = [];
    let [number, isLast] = [0, false];
    while (!isLast || ahead.length > 0) {
      while (!isLast && ahead.length < chunksAhead) {
        const chunk = await chunks.next(chunkOctets + tagOctets);
        ({ isLast } = chunk);
        ahead.push(openedChunk(key, number, chunk));
        number += 1;
      }
      const plain = await ahead.shift();
      if (plain !== undefined && plain.length > 0) yield plain;
    }
  } finally {
    await source.return?.();
  }
}

class PayloadDamaged extends Error {
  override readonly name = "PayloadDamaged";
}

interface Chunk {
  /** Good until the next one is asked for. */
  readonly octets: Uint8Array<ArrayBuffer>;
  readonly isLast: boolean;
}

async function payloadKey(fileKey: Uint8Array, salt: Uint8Array): Promise<CryptoKey> {
  const octets = hkdfSync("sha256", fileKey, salt, "payload", 32);
  // Measured: the runtime has the cipher, and calls its keys by a name that its types lack.
  const format = "raw-secret" as "raw";
  return await crypto.subtle.importKey(format, octets, algorithm, false, ["decrypt"]);
}

function openedChunk(
  key: CryptoKey,
  number: number,
  { octets, isLast }: Chunk,
): Promise<Uint8Array> {
  const nonce = new Uint8Array(12);
  // Eleven octets count, of which a file never needs more than seven.
  new DataView(nonce.buffer).setBigUint64(3, BigInt(number));
  if (isLast) nonce[11] = 1;
  // Only what is empty as a whole has an empty piece.
  if (number > 0 && octets.length <= tagOctets) return refused();
  const opening = crypto.subtle.decrypt({ name: algorithm, iv: nonce }, key, octets);
  return handled(opening.then((plain) => new Uint8Array(plain)));
}

const refused = (): Promise<never> => handled(Promise.reject(new PayloadDamaged()));

/** One that is told of when its turn comes, and not before. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** Octets in chunks of a length, whatever pieces they come in. */
class Chunks {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #chunk = new Uint8Array(chunkOctets + tagOctets);
  #piece = new Uint8Array();

  constructor(source: AsyncIterator<Uint8Array>) {
    this.#source = source;
  }

  /** So many octets, fewer at the end; what no octet follows is the last. */
  async next(length: number): Promise<Chunk> {
    let filled = 0;
    while (await this.#more()) {
      if (filled === length) return { octets: this.#chunk.subarray(0, filled), isLast: false };
      const some = this.#piece.subarray(0, length - filled);
      this.#chunk.set(some, filled);
      filled += some.length;
      this.#piece = this.#piece.subarray(some.length);
    }
    return { octets: this.#chunk.subarray(0, filled), isLast: true };
  }

  async #more(): Promise<boolean> {
    while (this.#piece.length === 0) {
      const next = await this.#source.next();
      if (next.done === true) return false;
      this.#piece = new Uint8Array(next.value);
    }
    return true;
  }
}

const algorithm = "ChaCha20-Poly1305";
const saltOctets = 16;
const chunkOctets = 65_536;
const tagOctets = 16;
const chunksAhead = 4;
