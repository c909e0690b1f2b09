/** One read for all who ask at a time. */

import { expect, test } from "bun:test";

import { joined } from "#adapters/db/engine/joined.ts";

test("who asks while a read is under way waits for the next, and shares it", async () => {
  const { read, gates } = gated();
  const ask = joined(read, 10_000);
  const first = ask();
  const others = [ask(), ask(), ask()];
  gates[0]?.resolve(1);
  expect(await first).toBe(1);
  await Bun.sleep(0);
  expect(gates).toHaveLength(2);
  gates[1]?.resolve(2);
  expect(await Promise.all(others)).toEqual([2, 2, 2]);
});

test("a read that fails fails those who waited for it, and the next is begun all the same", async () => {
  const { read, gates } = gated();
  const ask = joined(read, 10_000);
  const first = ask();
  const second = ask();
  gates[0]?.reject(new Error("gone"));
  expect(await first.catch(String)).toBe("Error: gone");
  await Bun.sleep(0);
  gates[1]?.resolve(2);
  expect(await second).toBe(2);
});

test("a read that says nothing is asked once more, and the answer is for all", async () => {
  const { read, gates } = gated();
  const ask = joined(read, 1);
  const first = ask();
  const second = ask();
  while (gates.length < 2) await Bun.sleep(1);
  gates[1]?.resolve(2);
  expect(await first).toBe(2);
  while (gates.length < 3) await Bun.sleep(1);
  gates[2]?.resolve(3);
  expect(await second).toBe(3);
  // What comes late tells nobody anything, not even that it failed.
  gates[0]?.reject(new Error("late"));
  await Bun.sleep(0);
});

function gated() {
  const gates: PromiseWithResolvers<number>[] = [];
  const read = () => {
    const gate = Promise.withResolvers<number>();
    gates.push(gate);
    return gate.promise;
  };
  return { read, gates };
}
