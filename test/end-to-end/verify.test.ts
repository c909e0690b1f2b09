/**
 * `pkid verify` of the binary: honest instances are proven on either database, with keys in files
 * or in a token, beside a server and without one.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { identityIn } from "#test/support/instances/backed-up.ts";
import { drillPlaces } from "#test/support/instances/drill-places.ts";
import { Instance, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";
import { type Lived, live, livedConfig } from "#test/support/instances/lived.ts";
import { type Members, rewrittenArchive } from "#test/support/instances/rewritten-archive.ts";
import { createHsmToken } from "#test/support/keys/soft-token.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";
import { until } from "#test/support/until.ts";

/** Answers are read member by member. */
// biome-ignore lint/suspicious/noExplicitAny: see above.
type Json = any;

describe("on a file", () => {
  let instance: Instance;
  let lived: Lived;
  let config: typeof livedConfig;

  beforeAll(async () => {
    const port = await freePort();
    const { server } = livedConfig;
    config = {
      ...livedConfig,
      server: { ...server, public_http: { enabled: true, address: `127.0.0.1:${port}` } },
      crl: { ...livedConfig.crl, base_url: `http://127.0.0.1:${port}` },
    };
    instance = await Instance.start({ config });
    lived = await live(instance);
  }, 120_000);
  afterAll(() => instance.dispose());

  test("an honest instance is proven while it is served, a line for each proof", async () => {
    const { code, stdout } = await instance.cli("verify");
    expect([code, stdout]).toEqual([0, expect.stringContaining("Every proof holds.")]);
    const lines = stdout.split("\n");
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.filter((line) => line.startsWith("ok"))).toHaveLength(13);
  }, 60_000);

  test("a later run looks at what is new, and the report is kept", async () => {
    const before = JSON.parse((await instance.cli("verify", "--json")).stdout) as Json;
    await instance.admin("POST", `/api/ca/${lived.chain.intermediateId}/revoke`, {
      serial: lived.serials.held,
      reason: "superseded",
    });
    const since = String(before.event_seq);
    const file = join(instance.home, "proofs.json");
    const { code, stdout } = await instance.cli("verify", "--since", since, "--report", file);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`behind event ${since}`)]);
    const report = JSON.parse(readFileSync(file, "utf8")) as Json;
    expect(report).toMatchObject({ valid: true, since: before.event_seq, driver: "sqlite" });
    const audit = report.proofs.find(({ name }: Json) => name === "audit");
    expect(audit.checked).toBe(report.event_seq - before.event_seq);
    expect(await instance.cli("verify", "--since", "999999")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("There is no event 999999."),
    });
  }, 60_000);

  test("the running server, its keys, its lists and its answers are proven too", async () => {
    const { code, stdout } = await instance.cli("verify", "--online", "--json");
    const report = JSON.parse(stdout) as Json;
    const running = report.proofs.find(({ name }: Json) => name === "running");
    expect([code, running]).toMatchObject([0, { violations: 0, notes: [] }]);
    expect(running.checked).toBeGreaterThan(30);
  }, 60_000);

  test("a sealed value that opens no more is named by its place", async () => {
    const database = () => new Database(join(instance.dataDir, "pkid.db"));
    await instance.stop();
    const before = database();
    const [row] = before
      .query<{ place: string; envelope: string }, []>(
        "select place, envelope from sealed_values where place like 'approvals/%'",
      )
      .all();
    const { place = "", envelope = "" } = row ?? {};
    const other = envelope.replace(/(?<="ciphertext":")./, (one) => (one === "A" ? "B" : "A"));
    const set = "update sealed_values set envelope = ? where place = ?";
    before.run(set, [other, place]);
    before.close();
    instance = await Instance.start({ home: instance.home, config });
    const { code, stdout } = await instance.cli("verify", "--online");
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^ok +Sealed values/m)]);
    expect(stdout).toMatch(/^FAIL +The running server/m);
    expect(stdout.replaceAll(/\s+/g, " ")).toContain(
      `The value at ${place} does not open under version 1 of the KEK.`,
    );
    await instance.stop();
    const after = database();
    after.run(set, [envelope, place]);
    after.close();
    instance = await Instance.start({ home: instance.home, config });
    expect((await instance.cli("verify", "--online")).code).toBe(0);
  }, 120_000);

  test("`verify --online` trusts the serving certificate that pkid created", async () => {
    const { crl } = config;
    writeConfig(instance.home, { ...config, crl: { ...crl, base_url: instance.url } });
    const { code, stdout, stderr } = await instance.cli("verify", "--online");
    writeConfig(instance.home, config);
    expect([code, stderr, stdout]).toEqual([0, "", expect.stringContaining("Every proof holds")]);
  }, 60_000);

  test("lists and answers that nobody gets are named", async () => {
    const { crl } = config;
    const elsewhere = {
      ...config,
      crl: { ...crl, base_url: `http://127.0.0.1:${await freePort()}` },
    };
    writeConfig(instance.home, elsewhere);
    const { code, stdout, stderr } = await instance.cli("verify", "--online");
    writeConfig(instance.home, config);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^FAIL +The running server/m)]);
    expect(stdout).toMatch(/CRL \d+ of full, CA \S+\s+cannot\s+be had at/);
    // Unreachable is not violated.
    expect(stdout).toContain("0 violations,");
    expect(stderr).toContain("responses could not be obtained");
    expect(stderr).not.toContain("incident");
  }, 60_000);

  test("an archive is proven as the instance is, by whoever can open it", async () => {
    const { archive, identity } = await archived(instance);
    const elsewhere = newHome();
    writeConfig(elsewhere, {});
    // Where there is no instance, it is unpacked among temporary files.
    const temporary = { dataDir: newHome() };
    const run = (...flags: string[]) =>
      runCli(elsewhere, ["verify", "--archive", ...flags], "", { TMPDIR: temporary.dataDir });
    const running = run(archive, "--identity", identity);
    await until(() => drillPlaces(temporary).length === 1);
    const { code, stdout, stderr } = await running;
    expect([code, stderr, stdout]).toEqual([0, "", expect.stringContaining("Every proof holds.")]);
    const lines = stdout.split("\n");
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.filter((line) => line.startsWith("ok"))).toHaveLength(14);
    expect(stdout).toMatch(/^ok +Archive: members, digests, signature +\d+ members$/m);
    const told = JSON.parse((await instance.cli("verify", "--json")).stdout) as Json;
    const report = JSON.parse(
      (await run(archive, "--identity", identity, "--json")).stdout,
    ) as Json;
    expect(report).toMatchObject({ valid: true, ledger_hash: told.ledger_hash });
    expect(report.archive.ledger_key).toMatch(/^[0-9a-f]+$/);
    expect(drillPlaces(temporary)).toEqual([]);
  }, 60_000);

  test("an archive that is cut off, or that nothing opens, is not proven", async () => {
    const { archive, identity } = await archived(instance);
    const run = (...flags: string[]) => runCli(instance.home, ["verify", ...flags]);
    const cut = join(instance.home, "cut.age");
    writeFileSync(cut, readFileSync(archive).subarray(0, -100));
    const damaged = await run("--archive", cut, "--identity", identity);
    expect([damaged.code, damaged.stdout]).toEqual([1, ""]);
    expect(damaged.stderr).toContain("it was altered, cut off");
    expect(await run("--archive", archive)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("give --identity or --passphrase-source"),
    });
    expect(await run("--archive", archive, "--online")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("exclude each other"),
    });
    expect(await run("--identity", identity)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("go with --archive"),
    });
    const other = await run("--archive", archive, "--identity", identity, "--ledger-key", "00");
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining("vouches for it")]);
  }, 60_000);

  test("a report never takes the place of something else", async () => {
    const key = join(instance.dataDir, "serving-ca.pem");
    const { code, stderr } = await instance.cli("verify", "--report", key);
    expect([code, stderr]).toEqual([1, expect.stringContaining("is not replaced by")]);
  });

  test("RES-1: a row that was edited while nobody looked is named, with exit 1, and restored by nobody", async () => {
    await instance.stop();
    const run = (...flags: string[]) => runCli(instance.home, ["verify", ...flags]);
    expect((await run()).code).toBe(0);
    const { archive: honest, identity } = await archived(instance);
    const online = await run("--online");
    expect([online.code, online.stderr]).toEqual([1, expect.stringContaining("needs a running")]);
    const database = new Database(join(instance.dataDir, "pkid.db"));
    database.run("update revocations set revoked_at = revoked_at - 86400000");
    database.close();
    const { code, stdout, stderr } = await run();
    expect(code).toBe(1);
    expect(stdout).toMatch(/^FAIL +Revocations and their events/m);
    expect(stdout).toContain(`Certificate ${lived.serials.revoked}`);
    expect(stderr).toContain("pkid manual incident");
    // A backup of it is refused.
    const recipient = /age1\S+/.exec(readFileSync(identity, "utf8"))?.[0] ?? "";
    const out = join(instance.home, "unproven.age");
    const backup = await instance.cli("backup", "create", "--out", out, "--recipient", recipient);
    const reason = "could not be restored. Revocations and their events: Certificate";
    expect([backup.code, backup.stderr]).toEqual([1, expect.stringContaining(reason)]);
    expect(existsSync(out)).toBe(false);
    const events = await instance.cli("audit", "list", "--action", "backup.run", "--json");
    expect(events.stdout).toContain("reason=unproven");
    // Nor does one pass in which it is edited, whose every digest fits.
    const archive = join(instance.home, "edited.age");
    writeFileSync(archive, await rewrittenArchive(honest, identityIn(identity), editRevocations));
    const inside = await run("--archive", archive, "--identity", identity);
    expect([inside.code, inside.stdout]).toEqual([
      1,
      expect.stringMatching(/^FAIL +Revocations and their events/m),
    ]);
    const drilled = await instance.cli("backup", "verify", archive, "--identity", identity);
    expect([drilled.code, drilled.stderr]).toEqual([
      1,
      expect.stringContaining(
        "What the archive holds is not proven. Revocations and their events:",
      ),
    ]);
    const elsewhere = newHome();
    writeConfig(elsewhere, config);
    for (const flags of [["--dry-run"], []]) {
      const back = await runCli(elsewhere, ["restore", archive, "--identity", identity, ...flags]);
      expect([back.code, back.stdout]).toEqual([1, ""]);
      expect(back.stderr).toContain("is not proven. Revocations and their events: Certificate");
      expect(readdirSync(elsewhere)).toEqual(["pkid.yaml"]);
    }
    const document = JSON.parse((await run("--json")).stdout) as Json;
    expect(document.valid).toBe(false);
    expect(document.not_provable.length).toBeGreaterThan(0);
  }, 60_000);
});

describe("on PostgreSQL with keys in a token", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server.stop());

  test("an honest instance is proven beside its server, an edited one is not", async () => {
    const hsmToken = await createHsmToken();
    const dsn = await server.createMigratedDatabase();
    const config = { ...hsmToken.config, ...livedConfig, database: { driver: "postgres", dsn } };
    const home = newHome();
    writeConfig(home, config);
    expect(await runCli(home, ["migrate"], "", hsmToken.env)).toMatchObject({ code: 0 });
    const instance = await Instance.start({ home, config, env: hsmToken.env });
    try {
      await live(instance);
      const { code, stdout } = await instance.cli("verify");
      expect([code, stdout]).toEqual([0, expect.stringContaining("Every proof holds.")]);
      const [{ seq }] = (await server.query(dsn, "select max(seq) as seq from events")) as Json;
      const partial = await instance.cli("verify", "--since", String(Number(seq) - 20));
      expect([partial.code, partial.stdout]).toEqual([0, expect.stringContaining("behind event")]);
      await server.query(dsn, "update certificates set common_name = 'other' where kind = 'leaf'");
      const edited = await instance.cli("verify");
      expect([edited.code, edited.stdout]).toEqual([1, expect.stringMatching(/^FAIL +Inventory/m)]);
    } finally {
      await instance.dispose();
      hsmToken.remove();
    }
  }, 180_000);
});

/** Moves every revocation in an archive back by a day. */
function editRevocations(entries: Members): void {
  const name = "database/revocations.jsonl";
  const [head = "[]", ...rows] = String(entries.get(name)).split("\n");
  const at = JSON.parse(head).indexOf("revoked_at");
  const edited = rows.map((line) => {
    if (line === "") return line;
    const row = JSON.parse(line);
    row[at] -= 86_400_000;
    return JSON.stringify(row);
  });
  entries.set(name, Buffer.from([head, ...edited].join("\n")));
}

/** An archive of it as it is now, and what opens it. */
async function archived(instance: Instance): Promise<{ archive: string; identity: string }> {
  const directory = mkdtempSync(join(instance.home, "archive-"));
  const identity = join(directory, "identity");
  const made = await instance.cli("backup", "keygen", "--out", identity);
  const recipient = ["--recipient", made.stdout.trim()];
  const { stdout } = await instance.cli("backup", "create", "--out", directory, ...recipient);
  return { archive: stdout.split("\n")[0] ?? "", identity };
}
