/** One piece of work for all who ask for it at a time. */

import { expect, test } from "bun:test";

import { shared } from "#core/shared.ts";
import { repeated } from "#adapters/db/engine/repeated.ts";

test("who asks while a read is under way waits for the next, and shares it", async () => {
  const { read, gates } = gated();
  const ask = shared(read);
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
  const ask = shared(read);
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
  const ask = shared(() => repeated(read, 1));
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

test("who asks just when one has ended shares the next, and no two are under way at a time", async () => {
  for (let microtasks = 0; microtasks < 10; microtasks++) {
    const { read, gates } = gated();
    const ask = shared(read);
    const asked = [ask(), ask()];
    gates[0]?.resolve(1);
    for (let n = 0; n < microtasks; n++) await Promise.resolve();
    asked.push(ask());
    await Bun.sleep(0);
    expect(gates).toHaveLength(2);
    gates[1]?.resolve(2);
    await Bun.sleep(0);
    gates[2]?.resolve(2);
    await Promise.all(asked);
  }
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
