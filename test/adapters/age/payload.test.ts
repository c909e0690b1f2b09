/** Archives are opened by the runtime's cipher as the library that wrote them would. */

import { expect, test } from "bun:test";

import { Decrypter } from "age-encryption";

import { decrypted, encrypted, newIdentity } from "#adapters/age/age.ts";

const { identity, recipient } = await newIdentity();
const chunk = 65_536;
const sealedChunk = chunk + 16;

for (const length of [0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 5 * chunk + 7]) {
  test(`${length} octets come back, in whatever pieces they arrive`, async () => {
    const plain = octetsOf(length);
    const sealed = await sealedOf(plain);
    expect(await openedOf([sealed])).toEqual(plain);
    expect(await openedOf(inPieces(sealed, 1000))).toEqual(plain);
    expect(await openedOf(inPieces(sealed, sealedChunk))).toEqual(plain);
  });
}

test("the library opens what the runtime's cipher has sealed, for each recipient", async () => {
  const other = await newIdentity();
  for (const length of [0, 1, chunk, 2 * chunk, 3 * chunk + 7]) {
    const plain = octetsOf(length);
    const pieces = inPieces(plain, 1000);
    const recipients = [recipient, other.recipient];
    const sealed = await joined(encrypted({ recipients }, streamed(pieces)));
    for (const one of [identity, other.identity]) {
      const decrypter = new Decrypter();
      decrypter.addIdentity(one);
      expect(await decrypter.decrypt(sealed)).toEqual(plain);
    }
  }
});

test("pieces that are cut off, changed, swapped or added are refused, wherever they stand", async () => {
  const sealed = await sealedOf(octetsOf(3 * chunk));
  const start = sealed.length - 3 * sealedChunk;
  const [first, second, third] = [0, 1, 2].map((at) =>
    sealed.subarray(start + at * sealedChunk, start + (at + 1) * sealedChunk),
  );
  const head = sealed.subarray(0, start);
  const flipped = sealed.slice();
  flipped[start + sealedChunk + 5] = (flipped[start + sealedChunk + 5] ?? 0) ^ 1;
  const otherSalt = sealed.slice();
  otherSalt[start - 1] = (otherSalt[start - 1] ?? 0) ^ 1;
  const damaged: Readonly<Record<string, readonly (Uint8Array | undefined)[]>> = {
    "without its last piece": [head, first, second],
    "without a piece": [head, first, third],
    "with two pieces swapped": [head, second, first, third],
    "with a piece twice": [head, first, first, second, third],
    "with an octet behind its end": [sealed, Uint8Array.of(0)],
    "with an empty piece behind its end": [sealed, new Uint8Array(16)],
    "cut within a piece": [sealed.subarray(0, -1)],
    "cut within the tag of its last piece": [sealed.subarray(0, 16 - sealedChunk)],
    "without any piece": [head],
    "cut within its salt": [head.subarray(0, -1)],
    "with another salt": [otherSalt],
    "with an octet changed": [flipped],
  };
  for (const [how, pieces] of Object.entries(damaged)) {
    const opening = openedOf(pieces.filter((piece) => piece !== undefined));
    await expect(opening, how).rejects.toThrow("altered, cut off or added to");
  }
});

test("what stands before a damaged piece was proven, and comes", async () => {
  const plain = octetsOf(9 * chunk);
  const sealed = await sealedOf(plain);
  sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1;
  const came: Uint8Array[] = [];
  const reading = (async () => {
    for await (const piece of decrypted({ identities: [identity] }, streamed([sealed]))) {
      came.push(piece);
    }
  })();
  await expect(reading).rejects.toThrow("altered, cut off or added to");
  expect(Buffer.concat(came).equals(plain.subarray(0, 8 * chunk))).toBe(true);
});

const octetsOf = (length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, at) => (at * 31 + (at >> 8)) & 255);

async function sealedOf(plain: Uint8Array): Promise<Uint8Array> {
  return await joined(encrypted({ recipients: [recipient] }, streamed([plain])));
}

const openedOf = (pieces: readonly Uint8Array[]): Promise<Uint8Array> =>
  joined(decrypted({ identities: [identity] }, streamed(pieces)));

function inPieces(octets: Uint8Array, length: number): readonly Uint8Array[] {
  const count = Math.ceil(octets.length / length);
  return Array.from({ length: count }, (_, at) => octets.subarray(at * length, (at + 1) * length));
}

async function* streamed(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

async function joined(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return new Uint8Array(Buffer.concat(all));
}
