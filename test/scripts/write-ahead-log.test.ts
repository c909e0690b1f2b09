/** The bench counts what SQLite itself writes to its log. */

import { Database } from "bun:sqlite";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, expect, test } from "bun:test";

import { logFrames } from "#scripts/bench/write-ahead-log.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-frames-"));
afterAll(() => rmSync(folder, { recursive: true }));

function opened(name: string) {
  const path = join(folder, name);
  const database = new Database(path);
  database.run("pragma journal_mode = wal");
  database.run("pragma wal_autocheckpoint = 0");
  database.run("create table a (id integer primary key, octets blob)");
  database.run("create table b (id integer primary key, octets blob)");
  return { database, frames: () => logFrames(readFileSync(`${path}-wal`)) };
}

test("each commit adds the pages it dirtied", () => {
  const { database, frames } = opened("adds.db");
  const before = frames();
  const earlier = before?.commits ?? [];
  database.run("insert into a (octets) values (x'01')");
  expect(frames()?.commits).toEqual([...earlier, 1]);
  database.transaction(() => {
    database.run("insert into a (octets) values (x'02')");
    database.run("insert into b (octets) values (x'03')");
  })();
  expect(frames()).toEqual({ beginning: before?.beginning ?? "", commits: [...earlier, 1, 2] });
  database.close();
});

test("a log that began anew has another beginning, and what remains of the old one is not counted", () => {
  const { database, frames } = opened("anew.db");
  for (let n = 0; n < 5; n++) database.run("insert into a (octets) values (zeroblob(100))");
  const before = frames();
  database.run("pragma wal_checkpoint(restart)");
  database.run("insert into a (octets) values (x'04')");
  const after = frames();
  expect(after?.beginning).not.toBe(before?.beginning);
  expect(after?.commits).toEqual([1]);
  database.close();
});

test("what is no log has no frames", () => {
  expect(logFrames(new Uint8Array(0))).toBeUndefined();
  expect(logFrames(new Uint8Array(4096))).toBeUndefined();
});
