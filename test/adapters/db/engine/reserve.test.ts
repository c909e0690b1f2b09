/**
 * Room set aside beside a database: made when there is plenty, whole or not at all, and gone when
 * it is needed.
 */

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Reserve } from "#adapters/db/engine/reserve.ts";

const place = () => join(mkdtempSync(join(tmpdir(), "pkid-reserve-")), "pkid.db");
const megabyte = 1_048_576;

test("a quarter of what should stay free is set aside, and given up at once", async () => {
  const database = place();
  const reserve = new Reserve(database, 8 * megabyte);
  await reserve.keep();
  const { size, blocks, mode } = statSync(`${database}-reserve`);
  expect([size, mode & 0o777]).toEqual([2 * megabyte, 0o600]);
  expect(blocks * 512).toBeGreaterThanOrEqual(2 * megabyte);
  reserve.beforeWriting();
  expect(existsSync(`${database}-reserve`)).toBe(true);
  reserve.giveUp();
  expect(existsSync(`${database}-reserve`)).toBe(false);
  await reserve.keep();
  expect(statSync(`${database}-reserve`).size).toBe(2 * megabyte);
});

test("what a killed process began is made whole", async () => {
  const database = place();
  writeFileSync(`${database}-reserve`, "part");
  await new Reserve(database, 8 * megabyte).keep();
  expect(statSync(`${database}-reserve`).size).toBe(2 * megabyte);
});

test("the room is set aside where the database lies, which a link to it does not tell", async () => {
  const database = place();
  writeFileSync(database, "");
  const link = place();
  symlinkSync(database, link);
  await new Reserve(link, 8 * megabyte).keep();
  expect([existsSync(`${database}-reserve`), existsSync(`${link}-reserve`)]).toEqual([true, false]);
});

test("without a limit, or without plenty of room, nothing is set aside", async () => {
  for (const [limit, scarce] of [
    [0, false],
    [2 ** 60, true],
  ] as const) {
    const database = place();
    const reserve = new Reserve(database, limit);
    await reserve.keep();
    expect(existsSync(`${database}-reserve`)).toBe(false);
    expect(reserve.scarce).toBe(scarce);
  }
});

test("a reserve that cannot be removed keeps nobody from what must go on", async () => {
  const database = place();
  mkdirSync(join(`${database}-reserve`, "kept"), { recursive: true });
  const reserve = new Reserve(database, 8 * megabyte);
  expect(() => reserve.giveUp()).not.toThrow();
  expect(await reserve.keep()).toBeUndefined();
});
