/** Slots: a limit of work in progress, with a fair and bounded queue. */

import { expect, test } from "bun:test";

import { FairSlots } from "#core/fair-slots.ts";

/** Returns work that ends when the test calls `end`. */
function createWork(name: string, started: string[]) {
  const { promise, resolve } = Promise.withResolvers<string>();
  const work = () => {
    started.push(name);
    return promise;
  };
  return { work, end: () => resolve(name) };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));
const tenant = (home: string) => ({ home, name: "" });

test("a tenant with one operation does not wait for all operations of another", async () => {
  const slots = new FairSlots({ active: 1, waiting: 10 });
  const started: string[] = [];
  const works = ["a1", "a2", "a3", "b1"].map((name) => createWork(name, started));
  const results = works.map(({ work }, at) => slots.run(tenant(at < 3 ? "a" : "b"), work));
  for (const { end } of works) end();
  expect(await Promise.all(results)).toEqual(["a1", "a2", "a3", "b1"]);
  expect(started).toEqual(["a1", "a2", "b1", "a3"]);
});

test("a slot limits the work in progress, also after work has failed", async () => {
  const slots = new FairSlots({ active: 2, waiting: 10 });
  const started: string[] = [];
  const failing = slots.run(tenant("a"), () => Promise.reject(new Error("no")));
  expect(failing).rejects.toThrow("no");
  const works = ["1", "2", "3"].map((name) => createWork(name, started));
  const results = works.map(({ work }) => slots.run(tenant("a"), work));
  await settle();
  expect(started).toEqual(["1", "2"]);
  works[0]?.end();
  await settle();
  expect(started).toEqual(["1", "2", "3"]);
  for (const { end } of works) end();
  await Promise.all(results);
});

test("the tenant with the most waiting operations loses the newest when too many wait", async () => {
  const slots = new FairSlots({ active: 1, waiting: 2 });
  const started: string[] = [];
  const works = ["a1", "a2", "a3", "b1"].map((name) => createWork(name, started));
  const results = works.map(({ work }, at) =>
    slots.run(tenant(at < 3 ? "a" : "b"), work).catch(({ code }) => code),
  );
  for (const { end } of works) end();
  expect(await Promise.all(results)).toEqual(["a1", "a2", "overloaded", "b1"]);
});
