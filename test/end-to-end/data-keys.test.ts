/**
 * A drill finds out on a good day whether an archive would restore on the day its KEK is lost: by
 * the data keys inside, which the KEK beside them would hide.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { memberNames } from "#core/backup/archive.ts";
import { type DataKeys, encodeDataKeys, parseDataKeys } from "#core/backup/data-keys.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { drillPlaces } from "#test/support/instances/drill-places.ts";
import { Instance, newHome, runCli } from "#test/support/instances/instance.ts";
import { type Members, rewrittenArchive } from "#test/support/instances/rewritten-archive.ts";

let home: string;
let archive: string;
let identity: string;
beforeAll(async () => {
  home = newHome();
  const instance = await Instance.start({ home });
  await createChain(instance, "ecdsa-p256");
  const made = await instance.cli("backup", "keygen", "--out", join(home, "identity"));
  identity = /AGE-SECRET-KEY-\S+/.exec(readFileSync(join(home, "identity"), "utf8"))?.[0] ?? "";
  mkdirSync(join(home, "archives"));
  const to = ["--out", join(home, "archives"), "--recipient", made.stdout.trim()];
  const created = await instance.cli("backup", "create", ...to, "--json");
  archive = JSON.parse(created.stdout).file;
  await instance.stop();
}, 60_000);
afterAll(() => {
  // Whatever was tried is removed again.
  expect(drillPlaces({ dataDir: join(home, "data") })).toEqual([]);
});

const verified = (file: string, ...flags: readonly string[]) =>
  runCli(home, ["backup", "verify", file, "--identity", join(home, "identity"), ...flags]);

/** What a drill says of the archive with other members. */
async function drilled(change: (members: Members) => void) {
  const file = join(home, `${crypto.randomUUID()}.age`);
  writeFileSync(file, await rewrittenArchive(archive, identity, change));
  return await verified(file, "--json");
}

/** The same with other data keys. */
const drilledWith = (change: (keys: Rows) => DataKeys) =>
  drilled((members) => {
    const { values, privateKeys } = parseDataKeys(members.get(memberNames.dataKeys) ?? Buffer.of());
    const keys = change({ values: [...values], privateKeys: [...(privateKeys ?? [])] });
    members.set(memberNames.dataKeys, Buffer.from(encodeDataKeys(keys)));
  });

type Row = readonly [string, Uint8Array];
interface Rows {
  readonly values: readonly Row[];
  readonly privateKeys: readonly Row[];
}

/** The first one comes to nothing, or has the data key of something else. */
const without = (rows: readonly Row[]) => new Map(rows.slice(1));
const mistaken = (rows: readonly Row[]) =>
  new Map(rows.map(([name, dek], at) => [name, at === 0 ? dek.toReversed() : dek]));
const first = (rows: readonly Row[]): string => rows[0]?.[0] ?? "there is none";

const labelOf = (id: string): string =>
  JSON.parse(readFileSync(join(home, "data", "keys", `${id}.key`), "utf8")).label;

test("BAK-3: a drill opens all that is sealed by the data keys of the archive, and tells how much", async () => {
  const whole = await verified(archive, "--json");
  expect([whole.code, whole.stderr]).toEqual([0, ""]);
  const { data_keys } = JSON.parse(whole.stdout);
  expect(data_keys).toEqual({
    values: expect.any(Number),
    private_keys: expect.any(Number),
    missing: [],
  });
  expect(data_keys.values).toBeGreaterThan(0);
  expect(data_keys.private_keys).toBeGreaterThanOrEqual(3);
  // Written anew as it was, it is as good.
  const same = await drilled(() => {});
  expect(JSON.parse(same.stdout).data_keys).toEqual(data_keys);
  const text = await verified(archive);
  expect(text.stdout).toMatch(/^data keys: +values=\d+ private_keys=\d+ missing=$/m);
}, 60_000);

test.each([
  ["lacks", without],
  ["has another key for", mistaken],
] as const)(
  "one that %s a value or a private key fails, and names it",
  async (_, change) => {
    let name = "";
    const value = await drilledWith(({ values, privateKeys }) => {
      name = first(values);
      return { values: change(values), privateKeys: new Map(privateKeys) };
    });
    expect([value.code, value.stdout]).toEqual([1, ""]);
    expect(value.stderr).toContain(
      `The data keys in the archive do not open ${name}: without its KEK`,
    );
    const key = await drilledWith(({ values, privateKeys }) => {
      name = labelOf(first(privateKeys));
      return { values: new Map(values), privateKeys: change(privateKeys) };
    });
    expect([key.code, key.stdout]).toEqual([1, ""]);
    expect(key.stderr).toContain(`do not open private key ${name}: without its KEK`);
  },
  60_000,
);

test("one of a release that took along none of private keys passes, and says which it lacks", async () => {
  let ids: readonly string[] = [];
  const told = await drilledWith(({ values, privateKeys }) => {
    ids = privateKeys.map(([id]) => id);
    return { values: new Map(values), privateKeys: undefined };
  });
  expect([told.code, told.stderr]).toEqual([0, ""]);
  const { data_keys } = JSON.parse(told.stdout);
  expect(data_keys.missing.toSorted()).toEqual(ids.map(labelOf).toSorted());
  expect(data_keys.private_keys).toBe(0);
  expect(data_keys.note).toContain("of a release that took along no data keys of private keys");
}, 60_000);

test("a private key that was lost with an earlier KEK is told, and fails no drill", async () => {
  const told = await drilled((members) => {
    const [, octets] = [...members].find(([name]) => name.endsWith(".key")) ?? [];
    const key = JSON.parse(String(octets));
    const envelope = { ...key.envelope, kek_version: 99 };
    const lost = { ...key, id: "ab".repeat(20), label: "lost", envelope };
    members.set(`keys/software/${lost.id}.key`, Buffer.from(JSON.stringify(lost)));
  });
  expect([told.code, told.stderr]).toEqual([0, ""]);
  expect(JSON.parse(told.stdout).data_keys).toMatchObject({ missing: ["lost"] });
}, 60_000);
