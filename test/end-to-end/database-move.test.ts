/**
 * The binary moves its database to PostgreSQL and back: certificates issued before are revoked
 * after, numbers go on, and at no moment could two databases be served.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";

import { OpensslCa } from "#test/support/instances/openssl-ca.ts";
import { createChain, walkCertificate } from "#test/support/instances/first-certificate.ts";
import {
  failedStart,
  Instance,
  newHome,
  runCli,
  writeConfig,
} from "#test/support/instances/instance.ts";
import { newCsr, saved } from "#test/support/instances/relying-party.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 60_000);
afterAll(() => server.stop());

const publicHttp = { server: { public_http: { enabled: true, address: "127.0.0.1:0" } } };

test("an instance lives on in PostgreSQL, and on a file again", async () => {
  const home = newHome();
  const onFile = await Instance.start({ home, config: publicHttp });
  const chain = await createChain(onFile, "ecdsa-p256");
  await walkCertificate(onFile, chain, "ecdsa-p256");
  const csr = await newCsr(chain.folder, "before.example.test");
  const before = await issue(onFile, chain.intermediateId, csr);
  const foreign = await takenOver(onFile);

  const dsn = await server.createDatabase();
  const away = { ...publicHttp, database: { driver: "postgres", dsn } };
  const move = moverOf(home);
  // While it is served it stays where it is.
  const { code, stderr } = await move(away);
  expect([code, stderr]).toEqual([1, expect.stringContaining("is in use")]);
  await onFile.stop();

  const looked = await move(away, "--dry-run", "--json");
  expect(JSON.parse(looked.stdout)).toMatchObject({ from: "sqlite", to: "postgres" });
  const moved = await move(away);
  expect([moved.code, moved.stdout]).toEqual([0, expect.stringContaining("chains verified to")]);
  expect(moved.stderr).toContain("the old database opens no more");
  // The configuration of before names what was left.
  const refused = await failedStart({ home, config: publicHttp });
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("was moved")]);
  const again = await move(away);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("is not empty")]);
  const { stdout: compared } = await move(away, "--verify-only");
  expect(compared).toContain("rows are the same");

  const onServer = await Instance.start({ home, config: away });
  await walkCertificate(onServer, { ...chain }, "ecdsa-p384");
  await onServer.admin("POST", `/api/ca/${chain.intermediateId}/revoke`, {
    serial: before.serial,
    reason: "keyCompromise",
  });
  const verified = await onServer.cli("audit", "verify", "--json");
  expect(JSON.parse(verified.stdout)).toMatchObject({ valid: true });
  const ended = await onServer.cli("revoke", "cert", "--ca", "old", foreign);
  expect(ended.code).toBe(0);
  expect(await proven(onServer)).toEqual([0, "Every proof holds."]);
  const list = await onServer.cli("cert", "list", "--ca", chain.intermediateId, "--json");
  await onServer.stop();

  const file = join(home, "data", "second.db");
  const back = { ...publicHttp, database: { driver: "sqlite", dsn: file } };
  writeConfig(home, away);
  expect(await move(back)).toMatchObject({ code: 0 });
  const home2 = await Instance.start({ home, config: back });
  expect((await home2.cli("cert", "list", "--ca", chain.intermediateId, "--json")).stdout).toBe(
    list.stdout,
  );
  expect(await proven(home2)).toEqual([0, "Every proof holds."]);
  expect(await moves(home2)).toEqual([
    "from=postgres to=sqlite seq=N ledger_number=N",
    "from=sqlite to=postgres seq=N ledger_number=N",
  ]);
  await home2.dispose();
}, 120_000);

/** Moves the instance of the home to what the configuration says. */
const moverOf =
  (home: string) =>
  (to: Record<string, unknown>, ...flags: readonly string[]) => {
    const file = saved(home, "to.yaml", JSON.stringify(withData(home, to)));
    return runCli(home, ["db", "migrate", "--to-config", file, ...flags]);
  };

/** A CA of another program, called old; gives the serial of a certificate of it. */
async function takenOver(instance: Instance): Promise<string> {
  const old = await OpensslCa.make();
  const serial = await old.issue("old.example");
  await old.revoke(await old.issue("gone.example"), "keyCompromise");
  const taken = await instance.cli("import", "openssl", old.directory, "--label", "old");
  expect(taken.code).toBe(0);
  return `0x${serial}`;
}

/** What the events say of moves, without their figures. */
async function moves(instance: Instance): Promise<readonly string[]> {
  const { items } = await instance.admin<{ items: { detail: string }[] }>(
    "GET",
    "/api/events?action=system.move",
  );
  return items.map(({ detail }) => detail.replaceAll(/\d+/g, "N"));
}

async function proven(instance: Instance) {
  const { code, stdout } = await instance.cli("verify");
  return [code, /^Every proof holds\./m.exec(stdout)?.[0] ?? stdout];
}

const withData = (home: string, config: Record<string, unknown>) => ({
  data_dir: join(home, "data"),
  ...config,
});

const issue = (instance: Instance, ca: string, csr: string) =>
  instance.admin<{ serial: string }>("POST", `/api/ca/${ca}/issue`, { csr });
