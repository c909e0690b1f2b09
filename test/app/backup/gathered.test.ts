/** Chunks of an archive are joined before they go to another thread. */

import { expect, test } from "bun:test";

import { gathered } from "#app/backup/gathered.ts";

async function* stream(lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  for (const [at, length] of lengths.entries()) yield Buffer.alloc(length, at + 1);
}

async function collect(lengths: readonly number[]): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of gathered(stream(lengths))) chunks.push(chunk);
  return chunks;
}

test("an archive is sent in chunks of at least 256 KiB with the same bytes, the last one shorter", async () => {
  const lengths = [1, 262_143, 262_144, 700_000, 5, 0, 9];
  const whole = await collect(lengths);
  expect(whole.map(({ length }) => length)).toEqual([262_144, 262_144, 700_000, 14]);
  const expected = lengths.map((length, at) => Buffer.alloc(length, at + 1));
  expect(Buffer.concat(whole)).toEqual(Buffer.concat(expected));
});

test("an empty archive has no chunk", async () => {
  expect(await collect([])).toEqual([]);
});

test("a chunk of an archive shares its memory with nothing, also a short one", async () => {
  for (const chunk of await collect([300_000, 3, 4])) {
    expect(chunk.buffer.byteLength).toBe(chunk.length);
  }
});
