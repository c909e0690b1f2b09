/**
 * JSON of many megabytes is the value the runtime's parser would give, read without keeping anybody
 * waiting, and bounded.
 */

import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { parseLongJson } from "#http/long-json.ts";

const octetsOf = (text: string) => new TextEncoder().encode(text);
const read = (text: string) => parseLongJson(octetsOf(text), 32);
const codeOf = (text: string | Uint8Array) =>
  parseLongJson(typeof text === "string" ? octetsOf(text) : text, 32).then(
    () => "read",
    (error) => error.code,
  );

/** What the whole text is to the runtime's parser. */
function expected(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

async function agrees(text: string): Promise<void> {
  const whole = expected(text);
  const got = await read(text).then(
    (value) => ({ value }),
    () => undefined,
  );
  expect(got).toEqual(whole);
}

describe("long JSON", () => {
  test("is what the runtime's parser reads, whatever it holds", async () => {
    await fc.assert(fc.asyncProperty(fc.json({ maxDepth: 6 }), agrees), { numRuns: 500 });
  });

  test("that is broken anywhere is refused exactly where the runtime's parser refuses it", async () => {
    const signs = [...'[]{},:"\\ 0nu-e'];
    const damaged = fc.tuple(fc.json(), fc.nat(), fc.constantFrom(...signs, ""), fc.boolean());
    await fc.assert(
      fc.asyncProperty(damaged, async ([text, place, sign, replaces]) => {
        const at = place % text.length;
        await agrees(text.slice(0, at) + sign + text.slice(at + (replaces ? 1 : 0)));
      }),
      { numRuns: 2000 },
    );
  });

  test("in several pieces is put together again: lists, texts, escapes and characters of several octets", async () => {
    const text = ["\\n", "\\u00e9", "é", "😀", "\\ud83d\\ude00", '\\"', "\\\\", "a"];
    const long = Array.from({ length: 200_000 }, (_, at) => text[at % text.length]).join("");
    await agrees(
      `{"crl":"${long}","items":[${`{"csr":"${long.slice(0, 3000)}"},`.repeat(500)}{}]}`,
    );
    await agrees(
      `{"a":{"serials":[${'"123",'.repeat(99_999)}"1"]},"__proto__":["x"],"b":[],"c":[ ]}`,
    );
    await agrees(`[${"0,".repeat(50_000)}{"a":[1,[2]]}]`);
    await agrees(`"${long}"`);
  });

  test("with a comma too many between two pieces of a list is malformed", async () => {
    const many = "0,".repeat(4000);
    for (const list of [
      `[${many}]`,
      `[${many},0]`,
      `[${many}${" ".repeat(140_000)},0]`,
      `[${many}0}`,
    ]) {
      expect(expected(list)).toBeUndefined();
      expect(await codeOf(list)).toBe("malformed_json");
    }
  });

  test("that never ends, nests too deep, or is no UTF-8 is malformed", async () => {
    const bad = ['{"a":"', '{"a":[1', "[".repeat(33), '"\\', `{"${"k".repeat(140_000)}":1}`];
    for (const text of bad) expect(await codeOf(text)).toBe("malformed_json");
    expect(await codeOf("[".repeat(32) + "]".repeat(32))).toBe("read");
    const octets = octetsOf(`{"a":"${"x".repeat(300_000)}"}`);
    octets[200_000] = 0xff;
    expect(await codeOf(octets)).toBe("malformed_json");
  });

  test("of more entries, members or values than any operation takes is refused", async () => {
    const refused = [
      `{"items":[${"{},".repeat(100_000)}{}]}`,
      `{${'"a":0,'.repeat(3000)}"b":0}`,
      `[[${"[],".repeat(3000)}0]]`,
      `["${"x".repeat(1_300_000)}"]`,
      `[${'{"a":[0,0]},'.repeat(99_999)}0]`,
    ];
    for (const text of refused) expect(await codeOf(text)).toBe("invalid_field");
  });

  test("gives others their turn all along", async () => {
    let turns = 0;
    let reading = true;
    const count = () => {
      turns++;
      if (reading) setImmediate(count);
    };
    setImmediate(count);
    const list = `[${`"${"x".repeat(1000)}",`.repeat(8000)}0]`;
    await read(list);
    reading = false;
    // A turn for every piece of 131,072 octets, and one for every megabyte of the walk.
    expect(turns).toBeGreaterThan(8_000_000 / 131_072);
  });
});
