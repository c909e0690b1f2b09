/**
 * Writes the migrations of both dialects from the table definition: `bun scripts/schema.ts <name>
 * [folder]`.
 */

import { fileURLToPath } from "node:url";

const [name, out = "migrations"] = process.argv.slice(2);
if (name === undefined || !/^[a-z][a-z0-9-]*$/.test(name)) {
  console.error("usage: bun scripts/schema.ts <name-of-the-change> [folder]");
  process.exit(2);
}
const root = fileURLToPath(new URL("..", import.meta.url));
for (const dialect of ["sqlite", "postgresql"] as const) {
  const folder = dialect === "sqlite" ? "sqlite" : "postgres";
  // drizzle-kit takes paths relative to the working folder only.
  const run = Bun.spawnSync(
    [
      process.execPath,
      "--bun",
      "node_modules/.bin/drizzle-kit",
      "generate",
      "--dialect",
      dialect,
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
}
