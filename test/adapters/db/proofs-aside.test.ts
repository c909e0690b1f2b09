/** Certificates that another thread looks at are proven as well as by one that does everything. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Database } from "bun:sqlite";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openForProof } from "#adapters/db/proofs/open.ts";
import { prove, type ProofRequest } from "#adapters/db/proofs/prove.ts";
import { systemRandom } from "#adapters/system.ts";
import { shareLivedDatabase } from "#test/support/instances/lived.ts";
import { isLongRun } from "#test/support/run-length.ts";

// Each copy is proven twice, with a thread that has to start.
setDefaultTimeout(240_000);

let folder: string;
let honest: string;
const workerUrl = new URL("../../../src/main.ts", import.meta.url).href;

beforeAll(async () => {
  ({ path: honest } = await shareLivedDatabase());
  folder = mkdtempSync(join(tmpdir(), "pkid-proofs-aside-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Returns the findings on a copy in which `statement` was run, by one thread and by two.
 * `losesThread`: also by two of which one fails.
 */
async function foundBoth(statement: string | undefined, losesThread = true) {
  const path = join(folder, `${crypto.randomUUID()}.db`);
  copyFileSync(honest, path);
  const database = new Database(path);
  database.run("pragma journal_mode = wal");
  if (statement !== undefined) database.run(statement);
  database.close();
  const alone = await found(path, undefined);
  const both = await found(path, { path, workerUrl });
  const lost = losesThread ? await found(path, { path: `${path}-nowhere`, workerUrl }) : alone;
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
  return { alone, both, lost };
}

/** Of each proof, whichever part of it was looked at first. */
async function found(path: string, aside: ProofRequest["aside"]) {
  const engine = await openForProof({ driver: "sqlite", path, busy_timeout_ms: 1000 });
  try {
    const { results } = await prove(engine, { since: 0, random: systemRandom, aside });
    return results.map(({ first, notes, ...result }) => ({
      ...result,
      first: first.toSorted(),
      notes: notes.toSorted(),
    }));
  } finally {
    await engine.close();
  }
}

const last = (table: string, key: string) => `(select max(${key}) from ${table})`;
/** Of what certificates, chains and both together say. */
const edits: readonly string[] = [
  "update certificates set certificate = certificate || x'00' where ordinal = 3",
  `update certificates set certificate = substr(certificate, 1, length(certificate) - 1) || x'07'
   where ordinal = ${last("certificates", "ordinal")}`,
  "update certificates set serial = serial || '1' where ordinal = 2",
  "update certificates set profile = profile || '1' where kind = 'leaf'",
  "update certificates set reason = 'keyCompromise' where status = 'good'",
  "update certificates set ca_id = 'nobody' where kind = 'leaf'",
  "update certificates set certificate = (select certificate from certificates where ordinal = 1)",
  `delete from certificates where ordinal = ${last("certificates", "ordinal")}`,
  "delete from certificates where kind = 'leaf'",
  "update ledger set signature_sha256 = digest where kind = 'outcome'",
  `delete from ledger where number = ${last("ledger", "number")}`,
  "update ledger set purpose = 'precertificate' where purpose = 'certificate'",
  "update events set detail = replace(detail, 'sha256=', 'sha256=0') where action = 'cert.issue'",
  `delete from events where seq = ${last("events", "seq")}`,
  "update events set action = 'cert.renew' where action = 'cert.issue'",
  "delete from revocations",
  "delete from crl_heads",
];

test("an honest copy is proven, with the same counts", async () => {
  const { alone, both, lost } = await foundBoth(undefined);
  expect(alone.filter(({ violations }) => violations > 0)).toEqual([]);
  expect(both).toEqual(alone);
  expect(lost).toEqual(alone);
});

test("of what retention has pruned the same is told", async () => {
  const { alone, both, lost } = await foundBoth(
    "update certificates set certificate = x'' where kind = 'leaf'",
  );
  const [inventory] = alone.filter(({ name }) => name === "inventory");
  expect(inventory?.notes.join()).toContain("of pruned certificates, unproven");
  expect(both).toEqual(alone);
  expect(lost).toEqual(alone);
});

for (const statement of edits) {
  test(`${statement.replaceAll(/\s+/g, " ")}: is found, and told in the same words`, async () => {
    // With a thread that fails the long run tries every edit, the short one the honest copies.
    const { alone, both, lost } = await foundBoth(statement, isLongRun);
    expect(alone.filter(({ violations }) => violations > 0)).not.toEqual([]);
    expect(both).toEqual(alone);
    expect(lost).toEqual(alone);
  });
}
