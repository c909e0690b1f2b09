/** Archives are what tar takes them for. */

import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";

import { TarUnfit, tarEnd, tarHeader, tarPadding, tarSizeMax } from "#core/tar.ts";
import { ran } from "#test/support/child.ts";

interface Member {
  readonly name: string;
  readonly content: Uint8Array;
  readonly mtime: number;
  readonly mode: number;
}

const archive = (members: readonly Member[]): Buffer =>
  Buffer.concat([
    ...members.flatMap(({ name, content, mtime, mode }) => [
      tarHeader(name, content.length, mtime, mode),
      content,
      tarPadding(content.length),
    ]),
    tarEnd(),
  ]);

const word = fc
  .stringMatching(/^[A-Za-z0-9_ä-][A-Za-z0-9_. ä-]{0,30}$/)
  .filter((one) => !one.endsWith(" "));
const name = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join("/"));
const member = fc.record({
  name,
  content: fc.uint8Array({ maxLength: 1500 }),
  mtime: fc.integer({ min: 0, max: 2 ** 32 }),
  mode: fc.constantFrom(0o600, 0o644, 0o755),
});

test("GNU tar lists and extracts every member with name, content, mode and time", async () => {
  const members = fc.uniqueArray(member, {
    minLength: 1,
    maxLength: 6,
    // A name that is a folder of another one is no file.
    comparator: (a, b) => `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`),
    selector: (one) => one.name,
  });
  await fc.assert(
    fc.asyncProperty(members, async (given) => {
      const folder = mkdtempSync(join(tmpdir(), "pkid-tar-"));
      try {
        writeFileSync(join(folder, "a.tar"), archive(given));
        const listed = await ran(["tar", "--quoting-style=literal", "-tf", "a.tar"], {
          cwd: folder,
        });
        expect([listed.code, listed.stderr]).toEqual([0, ""]);
        expect(listed.stdout.trimEnd().split("\n")).toEqual(given.map((one) => one.name));
        const done = await ran(["tar", "--warning=no-timestamp", "-xpf", "a.tar"], { cwd: folder });
        expect([done.code, done.stderr]).toEqual([0, ""]);
        for (const one of given) {
          const file = join(folder, one.name);
          expect(Buffer.compare(readFileSync(file), one.content)).toBe(0);
          const { mode, mtimeMs } = await Bun.file(file).stat();
          expect([mode & 0o777, mtimeMs]).toEqual([one.mode, one.mtime * 1000]);
        }
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }),
    { numRuns: 25 },
  );
}, 60_000);

test("a name of 255 octets is split at a slash, and a longer one or one without is refused", async () => {
  const longest = `${"p".repeat(155)}/${"n".repeat(99)}`;
  expect(tarHeader(longest, 0, 0, 0o644)).toHaveLength(512);
  expect(tarHeader("n".repeat(100), 0, 0, 0o644)).toHaveLength(512);
  for (const unfit of [
    `${"p".repeat(156)}/n`,
    `p/${"n".repeat(101)}`,
    "n".repeat(101),
    `${longest}nn`,
    "",
    "a/",
    "a\u0000b",
  ]) {
    expect(() => tarHeader(unfit, 0, 0, 0o644)).toThrow(TarUnfit);
  }
});

test("sizes to eight gibibytes fit; larger, negative and broken ones are refused", () => {
  expect(Buffer.from(tarHeader("a", tarSizeMax, 0, 0o644)).toString("latin1", 124, 135)).toBe(
    "77777777777",
  );
  for (const size of [tarSizeMax + 1, -1, 0.5, Number.NaN]) {
    expect(() => tarHeader("a", size, 0, 0o644)).toThrow(TarUnfit);
  }
  expect(() => tarHeader("a", 0, -1, 0o644)).toThrow(TarUnfit);
  expect(() => tarHeader("a", 0, 0, 0o10000)).toThrow(TarUnfit);
});

test("content is filled up to whole blocks", () => {
  expect([0, 1, 511, 512, 513].map((size) => tarPadding(size).length)).toEqual([0, 511, 1, 0, 511]);
});
