/** Comma-separated values as databases and spreadsheets write them. */

import { expect, test } from "bun:test";

import fc from "fast-check";

import { CsvRows, type FoundRow } from "#core/foreign-ca/csv-rows.ts";

function read(...pieces: readonly string[]): readonly FoundRow[] {
  const rows = new CsvRows();
  return [...pieces.flatMap((piece) => [...rows.push(piece)]), ...rows.finish()];
}

test("rows are named by the header, in lower case, and know their first line", () => {
  const text = '\ufeffSerial,PEM\r\n1,"a\nb ""c"""\r\n\r\n2,\n';
  expect(read(text)).toEqual([
    { line: 2, row: { serial: "1", pem: 'a\nb "c"' } },
    { line: 5, row: { serial: "2", pem: "" } },
  ]);
});

test("a row of another length is at fault by itself, and what breaks off ends it all", () => {
  expect(read("a,b\n1\n2,3")).toEqual([
    { line: 2, fault: "has 1 fields, and the header 2" },
    { line: 3, row: { a: "2", b: "3" } },
  ]);
  expect(read('a\n"x')).toEqual([{ line: 2, fault: "breaks off within quotes" }]);
  const [long, more] = read(`a\n${"x".repeat(1_100_000)}\ny\n`);
  expect([long, more]).toEqual([
    { line: 2, fault: "is longer than 1048576 characters" },
    undefined,
  ]);
});

test("what is written by RFC 4180 is read again, wherever the pieces end", () => {
  const value = fc.string({ unit: fc.constantFrom('"', ",", "\n", "a", "é", " ") });
  const table = fc.array(fc.tuple(value, value), { maxLength: 6 });
  fc.assert(
    fc.property(table, fc.array(fc.nat(200), { maxLength: 4 }), (rows, cuts) => {
      const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
      const text = `x,y\n${rows.map((row) => `${row.map(quoted).join(",")}\n`).join("")}`;
      const ends = [...cuts.map((cut) => cut % (text.length + 1)), text.length].sort(
        (a, b) => a - b,
      );
      const pieces = ends.map((end, at) => text.slice(ends[at - 1] ?? 0, end));
      const found = read(...pieces);
      expect(found.map((one) => ("row" in one ? [one.row.x, one.row.y] : one.fault))).toEqual(rows);
    }),
  );
});
