/** Working directories are removed by the next run if their process has ended. */

import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createWorkDirectory, cleanWorkDirectories } from "#app/work-directories.ts";

test("the directory of a killed drill is removed by the next one, and a directory in use stays", () => {
  const parent = mkdtempSync(join(tmpdir(), "pkid-work-"));
  const used = createWorkDirectory(join(parent, "drill-used"));
  expect(() => createWorkDirectory(used.path)).toThrow("EEXIST");
  const directories = ["drill-killed", "drill-new", "drill-old", "other"];
  for (const name of directories) mkdirSync(join(parent, name));
  for (const name of ["drill-killed", "other"]) writeFileSync(join(parent, name, "lock"), "1\n");
  utimesSync(join(parent, "drill-old"), 1, 1);
  cleanWorkDirectories(parent, /^drill-/);
  expect(readdirSync(parent).sort()).toEqual(["drill-new", "drill-used", "other"]);
  used.remove();
  expect(readdirSync(parent).sort()).toEqual(["drill-new", "other"]);
  cleanWorkDirectories(join(parent, "missing"), /^drill-/);
});
