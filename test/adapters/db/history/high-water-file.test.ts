/** File of the high-water mark: a process reads the mark that an earlier one stored. */

import { afterAll, expect, test } from "bun:test";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  HighWaterFile,
  highWaterPath,
  openHighWaterForReading,
} from "#adapters/db/history/high-water-file.ts";
import { emptyMark, type HighWaterMark } from "#core/history/mark.ts";
import { until } from "#test/support/until.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-high-water-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const fail = (error: unknown) => {
  throw error;
};
const newPath = () => highWaterPath(mkdtempSync(join(folder, "data-")));
const createMark = (seq: number, numbers: Record<string, number> = {}): HighWaterMark => ({
  ...emptyMark,
  event: { seq, hash: `hash-${seq}` },
  crlNumbers: new Map(Object.entries(numbers)),
});

test("a mark is stored soon after the call, readable only by the owner, and read at the next start", async () => {
  const path = newPath();
  const file = new HighWaterFile(path, fail);
  expect(file.mark).toBeUndefined();
  file.record(createMark(1, { "ca/full": 4 }), undefined);
  await until(() => openHighWaterForReading(path).mark?.event.seq === 1);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  for (let seq = 2; seq <= 500; seq++) {
    file.record(createMark(seq, { "ca/full": 4, "ca/x": seq }), ["ca/x"]);
  }
  await file.close();
  // Calls are coalesced: far fewer lines than marks.
  expect(readFileSync(path, "utf8").split("\n").length).toBeLessThan(20);
  expect(new HighWaterFile(path, fail).mark).toEqual(
    createMark(500, { "ca/full": 4, "ca/x": 500 }),
  );
});

test("a file that has grown long is replaced by one line with every scope", async () => {
  const path = newPath();
  const file = new HighWaterFile(path, fail);
  const name = (at: number) => `ca/${"x".repeat(2000)}${at}`;
  const numbers: Record<string, number> = {};
  let longest = 0;
  for (let at = 0; at < 400; at++) {
    numbers[name(at)] = at;
    file.record(createMark(at + 1, numbers), [name(at)]);
    if (at % 40 === 0) await Bun.sleep(105);
    longest = Math.max(longest, statSync(path, { throwIfNoEntry: false })?.size ?? 0);
  }
  await file.close();
  expect(longest).toBeLessThan(4_000_000);
  expect(new HighWaterFile(path, fail).mark).toEqual(createMark(400, numbers));
});

test("a flush resolves when every mark that was recorded before is on disk", async () => {
  const path = newPath();
  const file = new HighWaterFile(path, fail);
  const readSeq = () => openHighWaterForReading(path).mark?.event.seq ?? 0;
  const flushes = Array.from({ length: 50 }, async (_, at) => {
    file.record(createMark(at + 1), []);
    await file.flush();
    expect(readSeq()).toBeGreaterThanOrEqual(at + 1);
  });
  await Promise.all(flushes);
  // Together they take few writes.
  expect(readFileSync(path, "utf8").split("\n").length).toBeLessThan(10);
  await file.flush();
  await file.close();
});

test("a line that a crash has cut off is ignored, and the next mark is stored", async () => {
  const path = newPath();
  const file = new HighWaterFile(path, fail);
  file.record(createMark(7), undefined);
  await file.close();
  appendFileSync(path, '{"epoch":0,"event":[8,"ha');
  const next = new HighWaterFile(path, fail);
  expect(next.mark).toEqual(createMark(7));
  next.record(createMark(9), []);
  await next.close();
  expect(new HighWaterFile(path, fail).mark).toEqual(createMark(9));
});

test("a damaged file keeps the store closed, and the message names the file", () => {
  const path = newPath();
  for (const text of ["", "{}\n", "\0\0\0\n"]) {
    writeFileSync(path, text);
    expect(() => new HighWaterFile(path, fail)).toThrow(path);
    expect(() => openHighWaterForReading(path)).toThrow("damaged");
  }
});

test("a mark that could not be written is reported once and stored later", async () => {
  const path = newPath();
  const errors: unknown[] = [];
  const file = new HighWaterFile(path, (error) => errors.push(error));
  mkdirSync(`${path}.new`);
  file.record(createMark(1), undefined);
  await until(() => errors.length > 0);
  file.record(createMark(2), []);
  rmSync(`${path}.new`, { recursive: true });
  await file.close();
  expect(errors).toHaveLength(1);
  expect(new HighWaterFile(path, fail).mark).toEqual(createMark(2));
});
