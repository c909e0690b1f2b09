/**
 * Adds one version to the corpus of artifacts that every later build must open: `scripts/corpus
 * [--replace]`.
 */

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";

import { writeCorpus } from "#test/support/corpus/artifacts.ts";
import { corpusFolder } from "#test/support/corpus/manifest.ts";
import { canFakeTime } from "#test/support/instances/false-time.ts";
import {
  binary,
  newHome,
  runCli,
  runPlainCli,
  writeConfig,
} from "#test/support/instances/instance.ts";
import { startPostgres } from "#test/support/servers/postgres.ts";
import { tree } from "./bench/processor.ts";

const usage = `Adds test/corpus/<version> with one of each artifact that a user keeps.

Usage: scripts/corpus [--replace]

dist/pkid creates the artifacts. If it is missing, scripts/build builds it. Its version names the
folder. Needs PostgreSQL, openssl, GNU tar and libfaketime.

  --replace  Replace the folder if the version exists.
  --help     Print this text.`;

const options = readOptions();
if (options.help) {
  console.log(usage);
  process.exit(0);
}
process.on("exit", endServers);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));
await addVersion(options.replace);
process.exit(0);

function readOptions() {
  const flags = { replace: { type: "boolean" }, help: { type: "boolean", short: "h" } } as const;
  try {
    const { values } = parseArgs({ options: flags });
    return { replace: values.replace === true, help: values.help === true };
  } catch (error) {
    fail(`${error instanceof Error ? error.message : error} See scripts/corpus --help.`, 2);
  }
}

async function addVersion(replace: boolean): Promise<void> {
  const { version } = await Bun.file(join(import.meta.dir, "../package.json")).json();
  const { stdout } = await runPlainCli(newHome(), ["version", "--json"]);
  const built = JSON.parse(stdout).version;
  if (built !== version) {
    fail(`${binary} has version ${built}, package.json has ${version}. Run scripts/build.`);
  }
  const folder = join(corpusFolder, version);
  if (existsSync(folder) && !replace) {
    fail(`${relative(process.cwd(), folder)} exists. Use --replace to replace it.`);
  }
  if (!canFakeTime) fail("libfaketime is missing: apt-get install faketime");
  mkdirSync(corpusFolder, { recursive: true });
  const draft = mkdtempSync(join(corpusFolder, ".draft-"));
  try {
    await createArtifacts(draft);
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  console.log(`${relative(process.cwd(), folder)}: ${sizes.length} files, ${bytes} bytes`);
}

/** Runs the scenario on both databases and writes every artifact into `draft`. */
async function createArtifacts(draft: string): Promise<void> {
  const server = await startPostgres();
  const homes = { sqlite: newHome(), postgres: newHome() };
  try {
    const dsn = await server.createDatabase();
    const database = { database: { driver: "postgres", dsn } };
    writeConfig(homes.postgres, database);
    const migrated = await runCli(homes.postgres, ["migrate"]);
    if (migrated.code !== 0) throw new Error(`pkid migrate: ${migrated.stderr}`);
    await writeCorpus(draft, { ...homes, dsn });
  } finally {
    await server.stop();
    for (const home of Object.values(homes)) rmSync(home, { recursive: true, force: true });
  }
}

/** Ends servers that a failed run has left; after a complete run there are none. */
function endServers(): void {
  for (const pid of tree(process.pid).slice(1)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process has ended since it was listed.
    }
  }
}

function fail(message: string, code = 1): never {
  console.error(`error: ${message}`);
  process.exit(code);
}
