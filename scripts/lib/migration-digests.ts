/** SHA-256 digests of the released schema steps, so that no step changes after its release. */

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Folders below `migrations`, one per database. */
export const migrationFolders = ["sqlite", "postgres"] as const;

/** Digests of one step, in lowercase hex. */
export interface StepDigests {
  /** Name of the `.sql` file without its ending. */
  readonly tag: string;
  /** Digest of the bytes of the `.sql` file. */
  readonly sql: string;
  /** Digest of the journal entry, as JSON without blanks. */
  readonly entry: string;
}

/** Digests per database, in the order in which the steps run. */
export type DigestTable = Readonly<Record<(typeof migrationFolders)[number], StepDigests[]>>;

/**
 * Compares the steps below `folder` with its table of digests.
 *
 * @returns one message per difference, none if every step has its released bytes and position
 */
export function checkMigrationDigests(folder: string): string[] {
  const table = readDigestTable(folder);
  return migrationFolders.flatMap((database) => {
    const steps = listSteps(join(folder, database));
    const changed = compareSteps(table[database], steps);
    const unlisted = steps.slice(table[database].length);
    const messages = changed.concat(
      unlisted.map(({ tag }) => `${tag} has no digest: run \`bun run schema\` with a name.`),
      listStrayFiles(join(folder, database), steps),
    );
    return messages.map((message) => `${database}: ${message}`);
  });
}

/**
 * Appends the digests of new steps to the table of `folder`. Digests in the table never change.
 *
 * @throws {Error} if a released step differs from its digests
 */
export function appendMigrationDigests(folder: string): void {
  const table = readDigestTable(folder);
  for (const database of migrationFolders) {
    const steps = listSteps(join(folder, database));
    const [changed] = compareSteps(table[database], steps);
    if (changed !== undefined) throw new Error(`${database}: ${changed}`);
    table[database].push(...steps.slice(table[database].length));
  }
  writeFileSync(digestFile(folder), `${JSON.stringify(table, null, 2)}\n`);
}

function compareSteps(released: readonly StepDigests[], steps: readonly StepDigests[]) {
  return released.flatMap(({ tag, sql, entry }, index) => {
    const step = steps[index];
    if (step === undefined) return [`The released step ${tag} is missing.`];
    if (step.tag !== tag) return [`The released step ${tag} is replaced by ${step.tag}.`];
    if (step.sql !== sql) return [`${tag}.sql differs from its released bytes.`];
    return step.entry === entry ? [] : [`The journal entry of ${tag} differs from the release.`];
  });
}

/** Lists `.sql` files that the journal does not name, and that would never run. */
function listStrayFiles(folder: string, steps: readonly StepDigests[]): string[] {
  const listed = new Set(steps.map(({ tag }) => `${tag}.sql`));
  const files = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  return files.filter((name) => !listed.has(name)).map((name) => `${name} is not in the journal.`);
}

function listSteps(folder: string): StepDigests[] {
  const journal = readFileSync(join(folder, "meta/_journal.json"), "utf8");
  const { entries } = JSON.parse(journal) as {
    entries: readonly { readonly tag: string }[]; // The format of drizzle-kit.
  };
  return entries.map((entry) => {
    const sql = readFileSync(join(folder, `${entry.tag}.sql`));
    return { tag: entry.tag, sql: digest(sql), entry: digest(JSON.stringify(entry)) };
  });
}

function readDigestTable(folder: string): DigestTable {
  const file = digestFile(folder);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : { sqlite: [], postgres: [] };
}

const digestFile = (folder: string): string => join(folder, "digests.json");

const digest = (content: string | Uint8Array): string =>
  createHash("sha256").update(content).digest("hex");
