/** The migrations that are embedded, and the table definition they are made from, say the same. */

import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

import { expect, setDefaultTimeout, test } from "bun:test";

const root = join(import.meta.dir, "../..");
setDefaultTimeout(60_000);

test("the table definition asks for no migration that is not written", () => {
  const folder = mkdtempSync(join(tmpdir(), "pkid-migrations-"));
  try {
    cpSync(join(root, "migrations"), folder, { recursive: true });
    const command = [process.execPath, "scripts/schema.ts", "drift", relative(root, folder)];
    expect(Bun.spawnSync(command, { cwd: root, stdout: "ignore" }).exitCode).toBe(0);
    for (const dialect of ["sqlite", "postgres"]) {
      const listed = (from: string) => readdirSync(join(from, dialect)).sort();
      expect(listed(folder)).toEqual(listed(join(root, "migrations")));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("SQLite and PostgreSQL have one schema number, step by step of the same name", async () => {
  const journal = async (dialect: string) => {
    const file = Bun.file(join(root, "migrations", dialect, "meta/_journal.json"));
    const { entries } = (await file.json()) as { entries: readonly { tag: string }[] };
    return entries.map(({ tag }) => tag);
  };
  const steps = await journal("sqlite");
  expect(steps.length).toBeGreaterThan(0);
  expect(await journal("postgres")).toEqual(steps);
});
