/**
 * Keys on a token are a trace of the instance that made them: another one does not begin beside
 * them unasked.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { isOurs } from "#adapters/keys/token-keys.ts";
import {
  failedStart,
  Instance,
  newHome,
  runCli,
  runPlainCli,
} from "#test/support/instances/instance.ts";
import { createHsmToken, type SoftHsmToken } from "#test/support/keys/soft-token.ts";

let token: SoftHsmToken;
const home = newHome();
const place = join(home, "data");
const options = () => ({
  home,
  config: { ...token.config, secret: { kek_label: "pkid-kek" } },
  env: token.env,
});
const kekVersion = async (instance: Instance) =>
  (await instance.admin<{ version: number }>("GET", "/api/kek")).version;

beforeAll(async () => {
  token = await createHsmToken();
  foreignKey("payroll-v1");
}, 60_000);

afterAll(() => {
  token.remove();
  rmSync(home, { recursive: true, force: true });
});

/** A key of another program, with an id as those give. */
function foreignKey(label: string): void {
  const file = join(home, "foreign.pem");
  const env = { PATH: process.env.PATH ?? "", ...token.env };
  const pair = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", file];
  const key = ["--import", file, "--label", label, "--id", "0a0b"];
  for (const command of [
    ["openssl", "genpkey", ...pair],
    ["softhsm2-util", "--token", "pkid", "--pin", "1234", ...key],
  ]) {
    const ran = Bun.spawnSync(command, { env });
    expect([ran.exitCode, ran.stderr.toString()]).toEqual([0, expect.any(String)]);
  }
}

/** Data directory, database and key store are gone; the token is all that is left. */
const forget = () => rmSync(place, { recursive: true, force: true });

test("keys of another program on the token keep no instance from beginning", async () => {
  const instance = await Instance.start(options());
  expect(await kekVersion(instance)).toBe(1);
  expect(await instance.stop()).toBe(0);
}, 60_000);

test("a first start that was interrupted after its keys were made goes on, as the same instance", async () => {
  const { instance_id } = JSON.parse(readFileSync(join(place, "identity"), "utf8"));
  for (const name of readdirSync(place)) {
    if (name.startsWith("pkid.db")) rmSync(join(place, name));
  }
  writeFileSync(join(place, "identity"), JSON.stringify({ instance_id, founded: false }));
  rmSync(join(place, "keys", "instance"));
  const instance = await Instance.start(options());
  expect(await kekVersion(instance)).toBe(2);
  expect(await instance.stop()).toBe(0);
  const after = JSON.parse(readFileSync(join(place, "identity"), "utf8"));
  expect(after).toEqual({ instance_id, founded: true });
}, 60_000);

test("where only the token is left, serve founds nothing and names its keys", async () => {
  forget();
  // A refusal leaves nothing that would let the next start through.
  for (const time of ["first", "again"]) {
    const { code, stdout, stderr } = await failedStart(options());
    expect([time, code, stdout]).toEqual([time, 1, ""]);
    expect(stderr).toContain("the token holds keys of one (pkid-kek-v1, pkid-kek-v2)");
    expect(stderr).toContain("--found-anew");
    expect(stderr).not.toContain("payroll");
    expect([time, existsSync(join(place, "pkid.db")), existsSync(join(place, "identity"))]).toEqual(
      [time, false, false],
    );
  }
}, 60_000);

test("preflight says so too, and makes nothing", async () => {
  forget();
  const request = ["preflight", "--only", "db.connectivity"];
  const { code, stdout } = await runCli(home, request, "", token.env);
  expect([code, existsSync(place)]).toEqual([2, false]);
  expect(stdout).toContain("the token holds keys of one (pkid-kek-v1, pkid-kek-v2)");
}, 60_000);

test("a token that cannot be asked is no reason to begin", async () => {
  forget();
  const elsewhere = { SOFTHSM2_CONF: join(home, "none.conf") };
  writeFileSync(elsewhere.SOFTHSM2_CONF, `directories.tokendir = ${home}\n`);
  const { code, stderr } = await failedStart({ ...options(), env: elsewhere });
  expect([code, existsSync(join(place, "pkid.db"))]).toEqual([1, false]);
  expect(stderr).not.toContain("at ");
}, 60_000);

test("a first start with a PIN that the token refuses says so, and begins nothing", async () => {
  forget();
  const pin = join(token.folder, "pin");
  writeFileSync(pin, "4321\n");
  const { code, stderr } = await failedStart(options());
  writeFileSync(pin, "1234\n");
  expect([code, existsSync(join(place, "pkid.db"))]).toEqual([1, false]);
  expect(stderr).toContain("whether it holds keys of one: The token refused the PIN.");
  expect(stderr).not.toContain("4321");
}, 60_000);

test("who means it founds another instance, whose KEK takes the next name", async () => {
  forget();
  const init = ["init", "--found-anew", "--out", join(home, "x"), "--data-dir", place];
  expect((await runPlainCli(home, init)).code).toBe(0);
  const instance = await Instance.start(options());
  expect(await kekVersion(instance)).toBe(3);
  await instance.stop();
}, 60_000);

const uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
const id = "0123456789abcdef0123456789abcdef01234567";
test.each([
  ["kek-v1", id, true],
  ["kek-v12", id, true],
  [`issuing-${uuid}`, id, true],
  [`issuing-${uuid}-alt`, id, true],
  [`ocsp-${uuid}-0189abcd`, id, true],
  // Other programs'.
  ["kek-v1", "01", false],
  ["kek-v0", id, false],
  ["kek-v1-old", id, false],
  ["other-kek-v1", id, false],
  ["kek-vault", id, false],
  [`issuing-${uuid}`, "", false],
  [`issuing-${uuid}-backup`, id, false],
  [uuid, id, false],
  ["payroll", id, false],
])("%s with id %s is a key of pkid: %p", (label, keyId, ours) => {
  expect(isOurs({ label, id: keyId }, "kek")).toBe(ours);
});
