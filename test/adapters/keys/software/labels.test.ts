/** The labels of key files, as several processes add, replace and remove them. */

import { afterAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";

import { Labels } from "#adapters/keys/software/labels.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-labels-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Paths in the order in which they were read. */
let read: string[];
let labels: Labels;
beforeEach(() => {
  for (const path of paths()) rmSync(path);
  read = [];
  labels = new Labels((path) => {
    read.push(path);
    return readFileSync(path, "utf8") || undefined;
  });
});

const paths = (): string[] => readdirSync(folder).map((name) => join(folder, name));
const has = (label: string): boolean => labels.have(label, paths());

/** As every process writes: beside it, and then in its place. */
function write(name: string, label: string): string {
  const path = join(folder, name);
  writeFileSync(`${path}.new`, label);
  renameSync(`${path}.new`, path);
  return path;
}

test("a file that has been there for a moment is read once, however often it is asked", async () => {
  const [a, b] = [write("a", "first"), write("b", "second")];
  await Bun.sleep(100);
  expect([has("first"), has("second"), has("third")]).toEqual([true, true, false]);
  expect(read.toSorted()).toEqual([a, b]);
  const c = write("c", "third");
  await Bun.sleep(100);
  expect([has("third"), has("first")]).toEqual([true, true]);
  expect(read.slice(2)).toEqual([c]);
});

test("a damaged file has no label, and has one once it is whole", () => {
  write("a", "");
  expect(has("")).toBe(false);
  write("a", "first");
  expect(has("first")).toBe(true);
});

test("a file that is gone when its turn comes has no label", () => {
  expect(labels.have("first", [join(folder, "a")])).toBe(false);
});

test("it is as if all were read each time, whatever other processes do in between", () => {
  const name = fc.constantFrom("a", "b", "c", "d");
  const label = fc.constantFrom("", "first", "second", "third");
  const change = fc.oneof(
    fc.record({ act: fc.constant("write" as const), name, label }),
    fc.record({ act: fc.constant("remove" as const), name, label }),
    fc.record({ act: fc.constant("ask" as const), name, label }),
  );
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      for (const { act, name: file, label: text } of changes) {
        if (act === "write") write(file, text);
        else if (act === "remove") rmSync(join(folder, file), { force: true });
        else {
          const all = paths().map((path) => readFileSync(path, "utf8"));
          expect(has(text)).toBe(text !== "" && all.includes(text));
        }
      }
    }),
  );
});
