/**
 * Writes the migrations of both dialects from the table definition: `bun scripts/schema.ts <name>
 * [folder]`. Removes older snapshots and adds the digests of new steps. After an edit of a step
 * that is not released, delete its entry in `digests.json` and run the script again.
 */

import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { appendMigrationDigests, migrationFolders } from "./lib/migration-digests.ts";

const [name, out = "migrations"] = process.argv.slice(2);
if (name === undefined || !/^[a-z][a-z0-9-]*$/.test(name)) {
  console.error("usage: bun scripts/schema.ts <name-of-the-change> [folder]");
  process.exit(2);
}
const root = fileURLToPath(new URL("..", import.meta.url));
for (const folder of migrationFolders) {
  // drizzle-kit takes paths relative to the working folder only.
  const run = Bun.spawnSync(
    [
      process.execPath,
      "--bun",
      "node_modules/.bin/drizzle-kit",
      "generate",
      "--dialect",
      folder === "sqlite" ? "sqlite" : "postgresql",
      "--schema",
      `src/adapters/db/tables/schema.${folder}.ts`,
      "--out",
      `${out}/${folder}`,
      "--name",
      name,
    ],
    { cwd: root, stdout: "inherit", stderr: "inherit" },
  );
  if (run.exitCode !== 0) process.exit(run.exitCode);
  removeOlderSnapshots(join(root, out, folder, "meta"));
}
appendMigrationDigests(join(root, out));

/** Removes every snapshot but the newest, the only one that the next comparison reads. */
function removeOlderSnapshots(folder: string): void {
  const snapshots = readdirSync(folder).filter((file) => file.endsWith("_snapshot.json"));
  for (const file of snapshots.toSorted().slice(0, -1)) rmSync(join(folder, file));
}
