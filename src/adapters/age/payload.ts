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
    const key = await payloadKey(fileKey, salt, "decrypt");
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

/** The payload of what comes, under a salt of its own; the threads of the runtime encrypt it. */
export async function* sealedPayload(
  fileKey: Uint8Array,
  plain: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const source = plain[Symbol.asyncIterator]();
  try {
    const salt = crypto.getRandomValues(new Uint8Array(saltOctets));
    yield salt;
    const key = await payloadKey(fileKey, salt, "encrypt");
    const chunks = new Chunks(source);
    const ahead: Promise<Uint8Array>[] = [];
    let [number, isLast] = [0, false];
    while (!isLast || ahead.length > 0) {
      while (!isLast && ahead.length < chunksAhead) {
        const chunk = await chunks.next(chunkOctets);
        ({ isLast } = chunk);
        const iv = nonceOf(number, isLast);
        const sealing = crypto.subtle.encrypt({ name: algorithm, iv }, key, chunk.octets);
        ahead.push(handled(sealing.then((sealed) => new Uint8Array(sealed))));
        number += 1;
      }
      const sealed = await ahead.shift();
      if (sealed !== undefined) yield sealed;
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

async function payloadKey(
  fileKey: Uint8Array,
  salt: Uint8Array,
  use: "encrypt" | "decrypt",
): Promise<CryptoKey> {
  const octets = hkdfSync("sha256", fileKey, salt, "payload", 32);
  // Measured: the runtime has the cipher, and calls its keys by a name that its types lack.
  const format = "raw-secret" as "raw";
  return await crypto.subtle.importKey(format, octets, algorithm, false, [use]);
}

function openedChunk(
  key: CryptoKey,
  number: number,
  { octets, isLast }: Chunk,
): Promise<Uint8Array> {
  // Only what is empty as a whole has an empty piece.
  if (number > 0 && octets.length <= tagOctets) return refused();
  const opening = crypto.subtle.decrypt(
    { name: algorithm, iv: nonceOf(number, isLast) },
    key,
    octets,
  );
  return handled(opening.then((plain) => new Uint8Array(plain)));
}

/** Eleven octets count, of which a file never needs more than seven; the twelfth marks the end. */
function nonceOf(number: number, isLast: boolean): Uint8Array<ArrayBuffer> {
  const nonce = new Uint8Array(12);
  new DataView(nonce.buffer).setBigUint64(3, BigInt(number));
  nonce[11] = isLast ? 1 : 0;
  return nonce;
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
/** Of a payload that holds nothing. */
export const emptyPayloadOctets = saltOctets + tagOctets;
const chunksAhead = 4;
