/** Released schema steps never change, and `scripts/schema.ts` adds the digests of new ones. */

import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

import { embeddedMigrations } from "#adapters/db/engine/migrations.ts";
import {
  appendMigrationDigests,
  checkMigrationDigests,
  type DigestTable,
  migrationFolders,
} from "#scripts/lib/migration-digests.ts";

setDefaultTimeout(60_000);
const root = join(import.meta.dir, "../../..");
const copies: string[] = [];
afterAll(() => {
  for (const copy of copies) rmSync(copy, { recursive: true, force: true });
});

function copyMigrations(): string {
  const folder = mkdtempSync(join(tmpdir(), "pkid-digests-"));
  copies.push(folder);
  cpSync(join(root, "migrations"), folder, { recursive: true });
  return folder;
}

const readTable = (folder: string): DigestTable =>
  JSON.parse(readFileSync(join(folder, "digests.json"), "utf8"));

/** Rewrites a JSON file by `change`. */
// biome-ignore lint/suspicious/noExplicitAny: the generator owns the format.
function editJson(file: string, change: (document: any) => void): void {
  const document = JSON.parse(readFileSync(file, "utf8"));
  change(document);
  writeFileSync(file, JSON.stringify(document));
}

const planted = {
  "a byte of a step changes": [
    (folder: string) => {
      const file = join(folder, "0004_event-certificates.sql");
      const bytes = readFileSync(file);
      bytes[10] = (bytes[10] ?? 0) ^ 1;
      writeFileSync(file, bytes);
    },
    "0004_event-certificates.sql differs from its released bytes.",
  ],
  "a comment is appended to a step": [
    (folder: string) => appendFileSync(join(folder, "0001_rows-version.sql"), "-- note\n"),
    "0001_rows-version.sql differs from its released bytes.",
  ],
  "its journal entry changes": [
    (folder: string) =>
      editJson(join(folder, "meta/_journal.json"), ({ entries }) => {
        entries[2].when += 1;
      }),
    "The journal entry of 0002_intents differs from the release.",
  ],
  "the newest step is removed": [
    (folder: string) => {
      editJson(join(folder, "meta/_journal.json"), ({ entries }) => entries.pop());
      rmSync(join(folder, "0012_day-counts.sql"));
    },
    "The released step 0012_day-counts is missing.",
  ],
  "a step gets another number": [
    (folder: string) => {
      editJson(join(folder, "meta/_journal.json"), ({ entries }) => {
        entries[12].tag = "0013_day-counts";
      });
      renameSync(join(folder, "0012_day-counts.sql"), join(folder, "0013_day-counts.sql"));
    },
    "The released step 0012_day-counts is replaced by 0013_day-counts.",
  ],
  "a step is in no journal": [
    (folder: string) => writeFileSync(join(folder, "0013_stray.sql"), "select 1;"),
    "0013_stray.sql is not in the journal.",
  ],
} satisfies Record<string, [(folder: string) => void, string]>;

test("every released migration step has the bytes and the position of its release", () => {
  expect(checkMigrationDigests(join(root, "migrations"))).toEqual([]);
});

test("a database records the digests of the table for its migration steps", () => {
  const table = readTable(join(root, "migrations"));
  for (const database of migrationFolders) {
    const recorded = embeddedMigrations(database).map(({ hash }) => hash);
    expect(recorded).toEqual(table[database].map(({ sql }) => sql));
  }
});

test.each(
  migrationFolders.flatMap((database) =>
    Object.entries(planted).map(
      ([name, [plant, message]]) => [database, name, plant, message] as const,
    ),
  ),
)("the digests of %s detect when %s", (database, _, plant, message) => {
  const folder = copyMigrations();
  plant(join(folder, database));
  expect(checkMigrationDigests(folder)).toEqual([`${database}: ${message}`]);
});

test("`scripts/schema.ts` refuses to replace the digest of a released step", () => {
  const folder = copyMigrations();
  const before = readTable(folder);
  appendFileSync(join(folder, "sqlite/0000_schema.sql"), " ");
  expect(() => appendMigrationDigests(folder)).toThrow("sqlite: 0000_schema.sql differs");
  expect(readTable(folder)).toEqual(before);
});

test("`scripts/schema.ts` writes a step for a new column, its digest, and one snapshot", () => {
  const folder = copyMigrations();
  const before = readTable(folder);
  // A column that the newest snapshot lacks is new to the generator.
  for (const [database, table] of [
    ["sqlite", "tenants"],
    ["postgres", "public.tenants"],
  ] as const) {
    editJson(join(folder, database, "meta/0012_snapshot.json"), ({ tables }) => {
      delete tables[table].columns.name;
    });
  }
  const command = [process.execPath, "scripts/schema.ts", "planted", relative(root, folder)];
  expect(Bun.spawnSync(command, { cwd: root, stdout: "ignore" }).exitCode).toBe(0);
  for (const database of migrationFolders) {
    const step = readFileSync(join(folder, database, "0013_planted.sql"), "utf8");
    expect(step).toMatch(/^ALTER TABLE [`"]tenants[`"] ADD (COLUMN )?[`"]name[`"] text/);
    const snapshots = readdirSync(join(folder, database, "meta"));
    expect(snapshots.sort()).toEqual(["0013_snapshot.json", "_journal.json"]);
    const after = readTable(folder)[database];
    expect(after.slice(0, -1)).toEqual(before[database]);
    expect(after.at(-1)?.tag).toBe("0013_planted");
  }
  expect(checkMigrationDigests(folder)).toEqual([]);
});
