/**
 * Data directory, keys and database of one instance know each other; a missing or foreign part is
 * refused and named.
 */

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import {
  failedStart,
  Instance,
  newHome,
  runCli,
  runPlainCli,
  writeConfig,
} from "#test/support/instances/instance.ts";

const [first, second] = [newHome(), newHome()];
/** A copy of the first instance, made anew for each test. */
const home = newHome();
const place = join(home, "data");

beforeAll(async () => {
  for (const each of [first, second]) await (await Instance.start({ home: each })).stop();
}, 60_000);

beforeEach(() => {
  rmSync(home, { recursive: true, force: true });
  cpSync(first, home, { recursive: true });
  writeConfig(home, {});
});

afterAll(() => {
  for (const each of [first, second, home]) rmSync(each, { recursive: true, force: true });
});

const identity = (of = place): { instance_id: string; founded: boolean } =>
  JSON.parse(readFileSync(join(of, "identity"), "utf8"));

const removeDatabase = () => {
  for (const name of readdirSync(place)) {
    if (name.startsWith("pkid.db")) rmSync(join(place, name));
  }
};

/** What is there, but the lock and the socket, which every start makes. */
const files = () =>
  readdirSync(place, { recursive: true }).filter(
    (name) => !/lock|sock|private|holder/.test(String(name)),
  );

async function refused(): Promise<string> {
  const before = files();
  const { code, stdout, stderr } = await failedStart({ home });
  expect([code, stdout]).toEqual([1, ""]);
  expect(files()).toEqual(before);
  return stderr;
}

async function starts(): Promise<void> {
  const instance = await Instance.start({ home });
  expect(await instance.stop()).toBe(0);
}

const lost: readonly [string, () => void][] = [
  ["missing", removeDatabase],
  [
    "empty",
    () => {
      removeDatabase();
      writeFileSync(join(place, "pkid.db"), "", { mode: 0o600 });
    },
  ],
];

test.each(lost)(
  "a database that is %s beside keys is refused, and nothing is made",
  async (_, lose) => {
    const { instance_id } = identity();
    lose();
    const told = await refused();
    expect(told).toContain(join(place, "pkid.db"));
    expect(told).toContain(`${place} belongs to instance ${instance_id}`);
    expect(told).toMatch(/there are \d+ keys in .*keys/);
    expect(told).toContain("--found-anew");
    // Keys alone are enough: an earlier release wrote no identity.
    rmSync(join(place, "identity"));
    expect(await refused()).toMatch(/but there are \d+ keys/);
  },
  30_000,
);

test("preflight fails where the server would refuse to begin", async () => {
  removeDatabase();
  const { code, stdout } = await runCli(home, ["preflight", "--only", "db.connectivity"]);
  expect(code).toBe(2);
  expect(stdout).toContain("belongs to instance");
}, 30_000);

test("--found-anew founds another instance and keeps identity and keys of the earlier one", async () => {
  const before = identity();
  const keys = readdirSync(join(place, "keys")).filter((name) => name.endsWith(".key"));
  removeDatabase();
  const made = await runPlainCli(home, [
    "init",
    "--found-anew",
    "--out",
    join(home, "x"),
    "--data-dir",
    place,
  ]);
  expect(made.code).toBe(0);
  await starts();
  expect(identity().instance_id).not.toBe(before.instance_id);
  expect(identity().founded).toBe(true);
  const kept = readdirSync(place).filter((name) => name.startsWith("identity.before-"));
  expect(kept.map((name) => JSON.parse(readFileSync(join(place, name), "utf8")))).toEqual([before]);
  expect(readdirSync(join(place, "keys"))).toEqual(expect.arrayContaining(keys));
  await starts();
  const again = await runPlainCli(home, [
    "init",
    "--found-anew",
    "--out",
    join(home, "y"),
    "--data-dir",
    place,
  ]);
  expect([again.code, again.stderr.includes("is there")]).toEqual([1, true]);
}, 30_000);

test("the database of another instance is refused, and both ids named", async () => {
  removeDatabase();
  cpSync(join(second, "data", "pkid.db"), join(place, "pkid.db"));
  const told = await refused();
  expect(told).toContain(identity().instance_id);
  expect(told).toContain(identity(join(second, "data")).instance_id);
}, 30_000);

test("the keys of another instance are refused", async () => {
  rmSync(join(place, "keys"), { recursive: true });
  cpSync(join(second, "data", "keys"), join(place, "keys"), { recursive: true });
  expect(await refused()).toContain(identity(join(second, "data")).instance_id);
}, 30_000);

test("keys that are not there, as on an unmounted volume, are refused, and none are made", async () => {
  renameSync(join(place, "keys"), join(home, "away"));
  mkdirSync(join(place, "keys"), { mode: 0o700 });
  expect(await refused()).toContain(`${join(place, "keys")} is empty`);
  rmSync(join(place, "keys"), { recursive: true });
  renameSync(join(home, "away"), join(place, "keys"));
  await starts();
}, 30_000);

test("an instance of an earlier release is given its identity at its next start", async () => {
  const before = identity();
  rmSync(join(place, "identity"));
  rmSync(join(place, "keys", "instance"));
  await starts();
  expect(identity()).toEqual(before);
  expect(readFileSync(join(place, "keys", "instance"), "utf8").trim()).toBe(before.instance_id);
}, 30_000);

test("a first start that was interrupted before the database had its id goes on with the same id", async () => {
  const { instance_id } = identity();
  removeDatabase();
  writeFileSync(join(place, "identity"), JSON.stringify({ instance_id, founded: false }));
  rmSync(join(place, "keys", "instance"));
  await starts();
  expect(identity()).toEqual({ instance_id, founded: true });
}, 30_000);

test("an identity that cannot be read is named", async () => {
  writeFileSync(join(place, "identity"), "{}");
  expect(await refused()).toContain(join(place, "identity"));
  expect(existsSync(join(place, "identity"))).toBe(true);
}, 30_000);
