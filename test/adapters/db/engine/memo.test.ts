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

test("rows of another version are asked for anew, whichever process has moved it", async () => {
  const { memo, versions } = replica();
  let asked = 0;
  const read = memo.remembering("row", async (_name: string) => ++asked);
  expect([await read("a"), await read("a")]).toEqual([1, 1]);
  versions.committed = 7;
  expect([await read("a"), await read("a")]).toEqual([2, 2]);
});

test("a row that was read while the version moved is not remembered", async () => {
  const { memo, versions } = replica();
  const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  let asked = 0;
  const read = memo.remembering("row", (_name: string) => gates[asked++]?.promise ?? never());
  const early = read("a");
  await Bun.sleep(0);
  versions.committed = 2;
  const late = read("a");
  await Bun.sleep(0);
  gates[1]?.resolve("second");
  expect(await late).toBe("second");
  gates[0]?.resolve("first");
  expect(await early).toBe("first");
  expect(await read("a")).toBe("second");
});

test("those who ask at one version for one row share its reading, and its failure", async () => {
  const { memo } = replica();
  let asked = 0;
  const read = memo.remembering("row", async (name: string) => {
    asked += 1;
    await Bun.sleep(1);
    if (name === "broken") throw new Error("gone");
    return name;
  });
  expect(await Promise.all([read("a"), read("a"), read("a")])).toEqual(["a", "a", "a"]);
  expect(asked).toBe(1);
  const broken = await Promise.allSettled([read("broken"), read("broken")]);
  expect(broken.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(asked).toBe(2);
});

test("a unit asks once at the version its batch has locked, and always once its batch has touched rows", async () => {
  const { memo, versions } = replica();
  let asked = 0;
  const state = memo.rememberingWithin("state", async (_name: string) => ++asked);
  expect([await state("a"), await state("a")]).toEqual([1, 1]);
  versions.begin(1);
  expect(await state("a")).toBe(1);
  memo.touch();
  expect([await state("a"), await state("a")]).toEqual([2, 3]);
  // What was touched was rolled back: nothing has moved the version.
  versions.begin(1);
  expect(await state("a")).toBe(1);
  versions.begin(2);
  expect([await state("a"), await state("a")]).toEqual([4, 4]);
});

test("a row that changes by itself is asked for anew when that has committed, and it alone", async () => {
  const { memo, asked, read } = table();
  await read("a");
  await read("b");
  memo.changing("row", "other name of a");
  await read("a");
  memo.committed();
  await read("a");
  await read("b");
  expect(asked).toEqual(["a", "b", "a"]);
});

test("what is remembered is bounded: rows, members of lists, and long names", async () => {
  const memo = new Memo(ownVersions(() => batchOf));
  const asked: string[] = [];
  const list = memo.rememberingList("list", async (name: string) => {
    asked.push(name);
    return Array<number>(Number(name.slice(0, 4))).fill(0);
  });
  for (const name of ["6000a", "3000b", "6000a", "3000b"]) await list(name);
  expect(asked).toEqual(["6000a", "3000b"]);
  // No room for all three: what was there goes.
  for (const name of ["6000c", "6000a"]) await list(name);
  expect(asked.slice(2)).toEqual(["6000c", "6000a"]);
  const long = `0001${"x".repeat(3_000_000)}`;
  for (const name of [long, long]) await list(name);
  expect(asked.slice(4)).toEqual([long, long]);
});

/** A memo of one of several processes: its versions come from elsewhere. */
function replica() {
  const versions = {
    committed: 1,
    batch: { batch: {}, version: 1 },
    begin: (version: number) => {
      versions.committed = version;
      versions.batch = { batch: {}, version };
    },
  };
  const memo = new Memo({
    current: async () => versions.committed,
    begun: () => versions.batch,
    moved: () => undefined,
  });
  return { memo, versions };
}

const batchOf = {};
const never = () => Promise.reject(new Error("nobody asks a third time"));

function table() {
  const memo = new Memo(ownVersions(() => batchOf));
  const rows = new Map([
    ["a", "first"],
    ["b", "beside"],
  ]);
  const naming = { alsoBy: (row: string) => `other name of ${row === "beside" ? "b" : "a"}` };
  const asked: string[] = [];
  const read = memo.remembering(
    "row",
    async (name: string) => {
      asked.push(name);
      return rows.get(name);
    },
    naming,
  );
  const write = memo.touching(async (name: string, value: string) => {
    rows.set(name, value);
  });
  return { memo, rows, read, write, asked };
}
