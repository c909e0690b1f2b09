/**
 * The proofs over databases of instances that lived: each tampered copy is named by the proof whose
 * it is, and what no proof binds is known column by column.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import fc from "fast-check";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openForProof } from "#adapters/db/proofs/open.ts";
import { prove } from "#adapters/db/proofs/prove.ts";
import { systemRandom } from "#adapters/system.ts";
import { type Lived, shareLivedDatabase } from "#test/support/instances/lived.ts";
import { isLongRun, selectByRun } from "#test/support/run-length.ts";

let folder: string;
let honest: string;
let serials: Lived["serials"];

beforeAll(async () => {
  ({ path: honest, serials } = await shareLivedDatabase());
  folder = mkdtempSync(join(tmpdir(), "pkid-proofs-"));
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true }));

/** The failing proofs, each with what it names, of a copy in which `statements` were run. */
async function failing(
  statements: readonly string[],
  since = 0,
): Promise<Record<string, string[]>> {
  const path = join(folder, `${crypto.randomUUID()}.db`);
  copyFileSync(honest, path);
  const database = new Database(path);
  database.run("pragma journal_mode = wal");
  for (const statement of statements) database.run(statement);
  database.close();
  const engine = await openForProof({ driver: "sqlite", path, busy_timeout_ms: 1000 });
  try {
    const { results } = await prove(engine, { since, random: systemRandom });
    const failed = results.filter(({ violations }) => violations > 0);
    return Object.fromEntries(failed.map(({ name, first }) => [name, [...first]]));
  } catch (error) {
    // The one thing without which there is nothing to hold the others against.
    if (!(error instanceof Error && error.message.startsWith("The head row is gone"))) throw error;
    return { refused: [error.message] };
  } finally {
    await engine.close();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
  }
}

/** A statement about one of the certificates whose fate is known. */
const named = (statement: string): string =>
  statement.replaceAll(/\$(\w+)/g, (_, fate: keyof typeof serials) => serials[fate]);

test("an honest copy is proven, whole and in part", async () => {
  expect(await failing([])).toEqual({});
  expect(await failing([], 10)).toEqual({});
  const database = new Database(honest, { readonly: true });
  const [last] = database.query("select max(seq) as seq from events").all() as { seq: number }[];
  database.close();
  expect(await failing([], last?.seq)).toEqual({});
});

/** A column of a table that has rows, and the columns of its key. */
interface Cell {
  readonly table: string;
  readonly column: string;
  readonly key: readonly string[];
}

function cellsOf(path: string): readonly Cell[] {
  const database = new Database(path, { readonly: true });
  const tables = database.query<{ name: string }, []>(ownTables).all();
  const cells = tables.flatMap(({ name: table }) => {
    const columns = database
      .query<{ name: string; pk: number }, []>(`pragma table_info("${table}")`)
      .all();
    const key = columns.filter(({ pk }) => pk > 0).map(({ name }) => name);
    const some = database.query(`select 1 from "${table}" limit 1`).all().length > 0;
    return some ? columns.map(({ name: column }) => ({ table, column, key })) : [];
  });
  database.close();
  return cells;
}

/** Another value in one cell. */
function edit({ table, column, key }: Cell, value: string, row: number): string {
  const names = key.length === 0 ? "rowid" : key.map((name) => `"${name}"`).join(", ");
  const one = `select ${names} from "${table}" order by ${names} limit 1
    offset (select ${row} % count(*) from "${table}")`;
  return `update or ignore "${table}" set "${column}" = ${value} where (${names}) = (${one})`;
}

const another = (column: string) =>
  `case typeof("${column}") when 'integer' then "${column}" + 1
    when 'blob' then cast(cast("${column}" as text) || 'x' as blob)
    when 'null' then 7 else "${column}" || '1' end`;

/**
 * The long run edits every cell alone. The short run edits the unbound cells of a table together,
 * since no proof may notice any of them. The others it edits alone.
 */
test("every cell is bound by a proof, but for those that are known not to be", async () => {
  const cells = cellsOf(honest);
  // In every row of the table, for the first may hold nothing there.
  const buildEdit = ({ table, column }: Cell) =>
    `update or ignore "${table}" set "${column}" = ${another(column)}`;
  const names = Object.entries(unboundColumns).flatMap(([table, columns]) =>
    columns.split(" ").map((column) => `${table} ${column}`),
  );
  const isUnbound = ({ table, column }: Cell) => names.includes(`${table} ${column}`);
  const unbound = isLongRun ? [] : cells.filter(isUnbound);
  for (const [table, together] of Map.groupBy(unbound, ({ table }) => table)) {
    expect([table, await failing(together.map(buildEdit))]).toEqual([table, {}]);
  }
  for (const cell of isLongRun ? cells : cells.filter((one) => !isUnbound(one))) {
    if (Object.keys(await failing([buildEdit(cell)])).length === 0) unbound.push(cell);
  }
  expect(unbound.map(({ table, column }) => `${table} ${column}`).sort()).toEqual(names.sort());
}, 300_000);

test("an order of ACME has an account and a state, and a certificate when it is valid", async () => {
  const order = (id: string, account: string, status: string, serial: string) =>
    `insert into acme_orders (id, account, directory, tenant, ca_id, status, identifiers, authorizations, profile, created_at, expires_at, ends_at, certificate_serial, certificate_ca, certificate_not_after)
     select '${id}', '${account}', 'default', 'default', 'ca', '${status}', '[]', '[]', 'p', 1, 1, 1, ${serial},
     case when ${serial} is null then null else ca_id end, case when ${serial} is null then null else not_after end
     from certificates where serial = '$good'`;
  const found = await failing(
    [
      `insert into acme_accounts (id, directory, tenant, status, thumbprint, jwk, spki_sha256, contacts, created_at)
     values ('a', 'default', 'default', 'valid', 't', '{}', 's', '[]', 1)`,
      order("good", "a", "valid", "'$good'"),
      order("lost", "a", "valid", "'1'"),
      order("open", "a", "pending", "null"),
      order("foreign", "b", "pending", "null"),
      order("strange", "a", "done", "null"),
      order("bare", "a", "valid", "null"),
      order("early", "a", "pending", "'$good'"),
      "insert into acme_order_authorizations (authorization_id, order_id) values ('z', 'good')",
    ].map(named),
  );
  expect(found).toEqual({
    schema: [
      "acme_orders strange: its state is none there is.",
      "acme_orders foreign: its account does not exist.",
      "acme_orders bare: only a valid order has a certificate.",
      "acme_orders early: only a valid order has a certificate.",
      "acme_orders lost: its certificate does not exist.",
      "acme_order_authorizations good: its authorization does not exist.",
    ],
  });
});

test("a replacement whose certificates are still being collected is none of an incident", async () => {
  const plan = (id: string, state: string) =>
    `insert into acme_replacements (id, ca_id, tenant, selection, starts_at, ends_at, per_second, state, created_by, created_at, total, replaced, revoked)
     values ('${id}', 'ca', 'default', 'all', 1, 2, '1', '${state}', 'root', 1, 0, 0, 0)`;
  const states = ["planning", "running", "finished", "canceled"];
  expect(await failing(states.map((state, at) => plan(`r${at}`, state)))).toEqual({});
  expect(await failing([plan("r", "planned")])).toEqual({
    schema: ["acme_replacements r: its state is none there is."],
  });
});

test("whatever stands in a cell, proofs go on to their end and say what is wrong", async () => {
  const cells = cellsOf(honest).filter(({ table }) => table !== "heads" && table !== "events");
  const value = fc.oneof(
    fc.constantFrom("null", "''", "x''", "-1", "'-'", "9007199254740993", "'é'", "1e300"),
    fc.uint8Array({ maxLength: 20 }).map((octets) => `x'${octets.toHex()}'`),
    fc.string({ unit: "grapheme-ascii" }).map((text) => `'${text.replaceAll("'", "''")}'`),
  );
  const cell = fc.constantFrom(...cells);
  await fc.assert(
    fc.asyncProperty(cell, value, fc.nat(40), async (at, its, row) => {
      const found = failing([edit(at, its, row)]).catch((error) => {
        // Numbers of rows are the one thing that SQLite itself holds to their type.
        if (!/datatype mismatch/.test(String(error))) throw error;
        return {};
      });
      expect(typeof (await found)).toBe("object");
    }),
    { numRuns: selectByRun(40, 150) },
  );
}, 120_000);

const tampered: Readonly<Record<string, readonly [statements: readonly string[], by: string]>> = {
  "a certificate that is gone": [
    [`delete from certificates where serial = '$good'`],
    "artefacts inventory",
  ],
  "a certificate that nobody was told of": [
    [
      `insert into certificates select (select max(ordinal) + 1 from certificates), folded, id || 'x', ca_id, tenant, '99' || serial, '1' || serial_hex, kind, subject, common_name, sans, search, profile, not_before, not_after, status, revoked_at, reason, requested_by, created_at, spki_sha256, marker, identity, ct, crl_partition, crl_url, certificate, digest_head from certificates where serial = '$good'`,
    ],
    "artefacts inventory",
  ],
  "octets of another certificate": [
    [
      `update certificates set certificate = (select certificate from certificates where serial = '$held') where serial = '$good'`,
    ],
    "artefacts inventory",
  ],
  "a revocation that never was": [
    [
      `delete from revocations where serial = '$revoked'`,
      `update certificates set status = 'good', revoked_at = null, reason = null where serial = '$revoked'`,
    ],
    "revocations crls partitions",
  ],
  "a hold that was taken off by hand": [
    [
      `delete from revocations where serial = '$held'`,
      `update certificates set status = 'good', revoked_at = null, reason = null where serial = '$held'`,
    ],
    "revocations crls partitions",
  ],
  "a release that is not remembered": [["delete from revocation_releases"], "revocations"],
  "an earlier time of revocation": [
    [
      `update revocations set revoked_at = revoked_at - 86400000 where serial = '$revoked'`,
      `update certificates set revoked_at = revoked_at - 86400000 where serial = '$revoked'`,
    ],
    "revocations crls partitions",
  ],
  "a status that the table does not know": [
    [
      `update certificates set status = 'revoked', revoked_at = 0, reason = 'superseded' where serial = '$good'`,
    ],
    "revocations",
  ],
  "an event that is gone": [["delete from events where seq = 20"], "audit"],
  "events in another order": [
    [
      "update events set seq = -20 where seq = 20",
      "update events set seq = 20 where seq = 21",
      "update events set seq = 21 where seq = -20",
    ],
    "audit …",
  ],
  "a tail of events that was cut off": [
    ["delete from events where seq > (select max(seq) - 3 from events)"],
    "audit …",
  ],
  "an entry of the ledger that is gone": [
    ["delete from ledger where number = (select min(number) from ledger where kind = 'intent')"],
    "ledger",
  ],
  "a key that was never announced": [
    ["update ledger set kind = 'count' where kind = 'key' and role = 'ca'"],
    "ledger inventory",
  ],
  "an intent that is forgotten": [
    [
      "insert into open_intents (op_id, ca_id, serial, purpose, tbs_digest, requested_by, created_at, number, owner) select op_id, ca_id, '', purpose, digest, '', 0, number, 0 from ledger where kind = 'intent' limit 1",
    ],
    "ledger",
  ],
  "a list without its end": [
    ["update crl_pieces set octets = substr(octets, 1, length(octets) - 1)"],
    "artefacts crls partitions",
  ],
  "a list that is gone with its pieces": [
    [
      "delete from crl_heads where scope = 'full' and kind = 'delta'",
      "delete from crl_pieces where scope = 'full' and (ca_id, number) not in (select ca_id, number from crl_heads where scope = 'full')",
    ],
    "artefacts",
  ],
  "a CRL number that was given out again": [
    ["update crl_reservations set number = 1"],
    "crls partitions",
  ],
  "a partition that nobody keeps": [["delete from crl_stamps"], "partitions"],
  "an index that a partition would be made from": [["delete from crl_members"], "partitions"],
  "a serial that was given up before": [
    [
      "insert into intents (op_id, ca_id, serial, purpose, tbs_digest, requested_by, created_at, state) select 'x', ca_id, serial, '', '', '', 0, 'orphaned' from certificates where serial = '$good'",
    ],
    "serials",
  ],
  "a short serial": [
    [`update certificates set serial = '65537' where serial = '$good'`],
    "artefacts inventory serials",
  ],
  "an approval without approver": [["delete from approval_decisions"], "approvals"],
  "an approval by its maker": [
    [
      "update approval_decisions set person_subject = (select maker_subject from approvals), person_voucher = (select maker_voucher from approvals), person_issuer = (select maker_issuer from approvals)",
    ],
    "approvals",
  ],
  "an approval whose effect is gone": [["delete from approval_effects"], "approvals"],
  "a sealed value in another's place": [
    [
      "update sealed_values set envelope = (select envelope from sealed_values order by place desc limit 1)",
    ],
    "sealed",
  ],
  "a credential of ACME whose key is gone": [
    [
      `insert into acme_eabs (id, directory, ca_id, tenant, name, description, dns_suffixes, ip_ranges, allow_wildcards, any_identifier, max_uses, uses, created_by, created_at)
       values ('eab_1', 'default', 'ca', 'default', '', '', '[]', '[]', 0, 1, 1, 0, 'root', 1)`,
    ],
    "sealed",
  ],
  "a credential of ACME that was used too often": [
    ["update acme_eabs set uses = max_uses + 1 where max_uses > 0"],
    "schema",
  ],
  "an account of ACME bound with a credential nobody used": [
    ["update acme_eabs set uses = 0, last_used_at = null"],
    "schema",
  ],
  "an order of ACME with another's certificate": [
    [
      "update acme_orders set certificate_serial = '1' || certificate_serial where certificate_serial is not null",
    ],
    "schema",
  ],
  "an authorization of ACME that nothing proved": [
    ["update acme_authorizations set method = null where status = 'valid'"],
    "schema",
  ],
  "a challenge of ACME that became another's": [
    ["update acme_challenges set account = (select max(id) from acme_accounts)"],
    "schema",
  ],
  "a plan that counts what is not there": [
    ["delete from acme_replacement_items where replaced_at is null"],
    "schema",
  ],
  "a KEK version that is gone": [["delete from kek_versions"], "sealed"],
  "a migration that was not made": [
    ["delete from schema_migrations where version = (select max(version) from schema_migrations)"],
    "schema",
  ],
  "a CA under another key": [
    [
      "update cas set spki = (select spki from cas where label = 'hybrid') where label = 'root-ecdsa-p256'",
    ],
    "artefacts signatures inventory",
  ],
  "a CA that is gone": [["delete from cas where label = 'hybrid'"], "schema"],
  "a token with more rights": [[`update api_tokens set roles = '["platform_admin"]'`], "rights"],
  "an entry that would leave the lists too soon": [
    [`update revocations set expires_at = 1 where serial = '$revoked'`],
    "revocations",
  ],
  "an intent twice": [
    [
      "update ledger set op_id = (select op_id from ledger where kind = 'intent' order by number limit 1) where op_id = (select op_id from ledger where kind = 'intent' order by number limit 1 offset 1)",
    ],
    "ledger",
  ],
  "a hybrid CA of one algorithm": [
    ["update cas set alt_spki = null where label = 'hybrid'"],
    "artefacts signatures inventory",
  ],
};

for (const [what, [statements, by]] of Object.entries(tampered)) {
  test(`${what} is named by: ${by}`, async () => {
    const found = await failing(statements.map(named));
    const names = Object.keys(found).join(" ");
    if (by.endsWith("…")) expect(names).toStartWith(by.slice(0, -2));
    else expect(names).toBe(by);
    for (const sentences of Object.values(found))
      expect(sentences[0]).toMatch(/^([A-Z]|acme_).*\.$/);
  });
}

/**
 * What no proof binds: names for people, counters, indexes and searches that are derived, what only
 * the provider of a key knows, and the course of what is over. Of ACME also what clients have said
 * and nobody has signed: keys and contacts of accounts, names that were asked for and how they are
 * proved, limits of credentials, and the times of a plan.
 */
const unboundColumns = {
  acme_account_keys: "thumbprint spki_sha256 number",
  acme_accounts:
    "directory tenant thumbprint jwk spki_sha256 contacts terms_agreed_at eab_id created_at idle_since",
  acme_authorizations:
    "directory identifier_type identifier wildcard created_at expires_at challenges",
  acme_challenges: "id token error attempts",
  acme_eabs:
    "directory ca_id tenant name description profile dns_suffixes ip_ranges allow_wildcards any_identifier max_uses created_by created_at expires_at",
  acme_nonces: "expires_at",
  acme_orders:
    "directory tenant ca_id identifiers authorizations profile created_at ends_at error replaced_by",
  acme_replacement_items: "starts_at ends_at",
  acme_replacements:
    "ca_id tenant selection starts_at ends_at per_second revoke created_by created_at",
  api_tokens:
    "name description prefix token_hash created_by created_by_name person_subject person_voucher person_issuer person_address created_at last_used_at last_used_ip revoked_by",
  approval_decisions:
    "id approver approver_name person_subject person_voucher person_issuer person_address comment created_at",
  approvals:
    "tenant operation_class operation resource_key resource_name fingerprint summary details input maker maker_subject maker_voucher maker_issuer maker_address ip request_id attempts created_at expires_at decided_at executed_at collected_at failure effect answer owner open_key",
  bulk_runs:
    "number lineage id ca_id reason digest filter batch_size started_at actor actor_name actor_roles ip request_id approval maker owner planned revoked upgraded skipped batches",
  cas: "tenant label key_id alt_key_id retire_after created_at internal search",
  certificate_counts: "ca_id status day profile number",
  certificates: "ordinal folded id search requested_by created_at marker identity ct",
  crl_heads: "prior_update published_at",
  crl_indexes: "ca_id sequence",
  crl_reservations: "number this_update sequence reserved_at",
  crl_stamps: "not_after",
  cross_signs: "id subject_ca subject_key_id source created_at",
  day_counts: "ca_id day kind number",
  events: "folded request_id at certificate_ordinal",
  folds: "name through removed",
  heads: "rows_version",
  kek_versions: "key_provider key_label key_id device_serial spki_sha256 created_at",
  schema_migrations: "version",
  responders: "key_label key_id key_provider",
  revocation_counts: "ca_id number",
  revocation_releases: "since expires_at",
  tenant_counts: "tenant kind slot number",
  tenants:
    "id slug name created_at kek_label max_certs_per_day max_active_certs rate_limit_per_second rate_limit_burst",
};

const ownTables =
  "select name from sqlite_master where type = 'table' and sql not like '%virtual%' and name not like 'certificate_search%' and name not like 'sqlite%'";
