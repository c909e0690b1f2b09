/**
 * Programs of others at the database of a running server: they may look, and what they take away is
 * missed at once.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { failedStart, Instance, newHome } from "#test/support/instances/instance.ts";
import { holdWriteLock } from "#test/support/stores/lock-holder.ts";
import { lookFromOutside } from "#test/support/instances/outside-look.ts";
import { newCsr, openssl } from "#test/support/instances/relying-party.ts";

const home = newHome();
const database = join(home, "data", "pkid.db");
let instance: Instance;
let chain: Chain;
let csr: string;

beforeAll(async () => {
  // Longer than a loaded machine needs for the test that has the lock held.
  const config = { database: { busy_timeout_ms: 60_000 } };
  instance = await Instance.start({ home, config });
  chain = await createChain(instance, "ecdsa-p256");
  csr = await newCsr(home, "looks.example.test");
}, 60_000);

afterAll(async () => {
  await instance.kill();
  rmSync(home, { recursive: true, force: true });
});

const ocspType = { "content-type": "application/ocsp-request" };
const ca = (path: string): string => `/api/ca/${chain.intermediateId}/${path}`;
const issued = async (request = csr): Promise<string> =>
  (await instance.admin<{ serial: string }>("POST", ca("issue"), { csr: request })).serial;
const status = async (serial: string): Promise<string> =>
  (await instance.admin<{ status: string }>("GET", ca(`certificates/${serial}`))).status;

test("the server holds SQLite's locks while it serves, also after preflight has looked", async () => {
  await instance.cli("preflight", "--only", "db.connectivity,db.integrity,data_dir.modes");
  const held = readFileSync("/proc/locks", "utf8")
    .split("\n")
    .filter((line) => line.split(/\s+/)[4] === String(instance.pid));
  for (const file of [database, `${database}-shm`]) {
    const { ino } = statSync(file);
    expect(held.filter((line) => line.includes(`:${ino} `)).length).toBeGreaterThan(0);
  }
}, 30_000);

test("a program that holds the write lock holds up writes only: health and OCSP go on, and what waits is acknowledged", async () => {
  const holder = await holdWriteLock(database);
  let acknowledged = false;
  const waiting = issued().then((serial) => {
    acknowledged = true;
    return serial;
  });
  const question = join(home, "question.der");
  await openssl(["ocsp", "-issuer", chain.intermediate, "-serial", "0x77", "-reqout", question]);
  const body = readFileSync(question);
  for (let n = 0; n < 100; n++) {
    await Bun.sleep(15);
    const asked = { method: "POST", headers: ocspType, body };
    const [health, ocsp] = await Promise.all([
      instance.fetch("/healthz"),
      instance.fetch(ca("ocsp"), asked),
    ]);
    const answer = await ocsp.bytes();
    // Successful (0), and signed: an error would be five octets.
    expect([health.status, ocsp.status, answer.length > 100]).toEqual([200, 200, true]);
  }
  expect(acknowledged).toBe(false);
  await holder.letGo();
  expect(await status(await waiting)).toBe("good");
}, 60_000);

test("a look from outside, then a kill: what was acknowledged is there, and revoked stays revoked", async () => {
  const serials = [await issued()];
  lookFromOutside(database);
  serials.push(await issued());
  // A key that was compromised is not certified again.
  const revoked = await issued(await newCsr(home, "revoked.example.test"));
  const reason = { serial: revoked, reason: "keyCompromise" };
  await instance.admin("POST", ca("revoke"), reason);
  lookFromOutside(database);
  serials.push(await issued());
  await instance.kill();
  instance = await Instance.start({ home });
  for (const serial of serials) expect(await status(serial)).toBe("good");
  expect(await status(revoked)).toBe("revoked");
  expect((await instance.cli("audit", "verify")).code).toBe(0);
}, 60_000);

test("a second server on the same database is refused, whatever its data directory, and told who has it", async () => {
  const other = newHome();
  const config = { database: { dsn: database } };
  const refused = await failedStart({ home: other, config });
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  expect(refused.stderr).toContain(`${database} is in use: process ${instance.pid} on `);
  expect((await instance.fetch("/readyz")).status).toBe(200);
  rmSync(other, { recursive: true });
}, 30_000);

test("a log that is removed under the server: not ready, nothing acknowledged, nothing lost by a stop", async () => {
  const before = await issued();
  rmSync(`${database}-wal`);
  let refused = await instance.fetch("/readyz");
  // An answer is given again for a second.
  while (refused.status === 200) refused = await instance.fetch("/readyz");
  expect(refused.status).toBe(503);
  expect(await refused.json()).toMatchObject({
    components: { database: { status: "down", error: "The database does not accept writes." } },
  });
  await expect(issued()).rejects.toThrow("storage_unavailable");
  await instance.logged("the database was taken away beneath the server; nothing is written");
  await instance.stop();
  instance = await Instance.start({ home });
  expect(await status(before)).toBe("good");
  expect((await instance.fetch("/readyz")).status).toBe(200);
}, 60_000);
