/** The memo of rows: never an answer from before an acknowledged change. */

import { expect, test } from "bun:test";

import { Memo, ownVersions } from "#adapters/db/engine/memo.ts";

test("a row is asked for once between two changes, and anew after one", async () => {
  const { memo, read, write, asked } = table();
  await read("a");
  await read("a");
  expect(asked).toEqual(["a"]);
  await write("a", "second");
  memo.committed();
  expect(await read("a")).toBe("second");
});

test("a commit that wrote none of the rows forgets nothing", async () => {
  const { memo, read, asked } = table();
  await read("a");
  memo.committed();
  await read("a");
  expect(asked).toEqual(["a"]);
});

test("a change is seen only when it has committed", async () => {
  const { read, write } = table();
  await read("a");
  await write("a", "second");
  expect(await read("a")).toBe("first");
});

test("a row that was being read while a change committed is not remembered", async () => {
  const { memo, rows, write } = table();
  const gate = Promise.withResolvers<void>();
  const slow = memo.remembering("slow", async (name: string) => {
    const row = rows.get(name);
    await gate.promise;
    return row;
  });
  const early = slow("a");
  await write("a", "second");
  memo.committed();
  gate.resolve();
  expect(await early).toBe("first");
  expect(await slow("a")).toBe("second");
});

test("what is absent is asked for every time", async () => {
  const { read, asked } = table();
  expect(await read("nothing")).toBeUndefined();
  await read("nothing");
  expect(asked).toEqual(["nothing", "nothing"]);
});

function table() {
  const batch = {};
  const memo = new Memo(ownVersions(() => batch));
  const rows = new Map([["a", "first"]]);
  const asked: string[] = [];
  const read = memo.remembering("row", async (name: string) => {
    asked.push(name);
    return rows.get(name);
  });
  const write = memo.touching(async (name: string, value: string) => {
    rows.set(name, value);
  });
  return { memo, rows, read, write, asked };
}
