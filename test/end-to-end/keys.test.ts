/**
 * Sealed keys that were lost, altered or copied without their master key: never a new key, never a
 * wrong signature.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Instance, newHome, runCli } from "#test/support/instances/instance.ts";

const home = newHome();
const keys = join(home, "data", "keys");
const masterKey = join(home, "data", "master.key");
const sealed = () =>
  readdirSync(keys)
    .filter((name) => name.endsWith(".key"))
    .sort();
const publish = async (ca: string) => (await runCli(home, ["crl", "publish", "--ca", ca])).code;

beforeAll(async () => {
  await (await Instance.start({ home })).stop();
  for (const label of ["one", "two"]) {
    const made = await runCli(home, ["ca", "init-root", "--label", label, "--cn", label]);
    expect(made.code).toBe(0);
  }
}, 30_000);

afterAll(() => rmSync(home, { recursive: true, force: true }));

test("without its master key, with another, or with an open one, no sealed key is used", async () => {
  const before = sealed();
  const kept = readFileSync(masterKey);
  const broken: [string, () => void, () => void][] = [
    [
      "is missing",
      () => renameSync(masterKey, `${masterKey}.away`),
      () => renameSync(`${masterKey}.away`, masterKey),
    ],
    [
      "is not the one",
      () =>
        writeFileSync(
          masterKey,
          kept.map((octet, at) => (at === 5 ? octet ^ 1 : octet)),
        ),
      () => writeFileSync(masterKey, kept),
    ],
    ["is open to others", () => chmodSync(masterKey, 0o644), () => chmodSync(masterKey, 0o600)],
  ];
  for (const [sentence, harm, mend] of broken) {
    harm();
    const refused = await runCli(home, ["serve"]);
    mend();
    expect([sentence, refused.code, refused.stdout]).toEqual([sentence, 1, ""]);
    expect(refused.stderr).toContain(`master key of the software key store ${sentence}`);
  }
  expect(sealed()).toEqual(before);
  expect(await publish("one")).toBe(0);
}, 30_000);

test("an altered or lost key stops its own CA, no other, and is never made anew", async () => {
  const before = sealed();
  const stopped = new Set<string>();
  for (const name of before) {
    const file = join(keys, name);
    const kept = readFileSync(file);
    const altered = kept.map((octet, at) => (at === kept.length - 3 ? octet ^ 1 : octet));
    for (const harm of [() => writeFileSync(file, altered), () => rmSync(file)]) {
      harm();
      const codes = [await publish("one"), await publish("two")];
      stopped.add(codes.join(" "));
      expect(sealed().length).toBeLessThanOrEqual(before.length);
      writeFileSync(file, kept, { mode: 0o600 });
    }
  }
  // One key is the ledger's, which publishing does not need.
  expect([...stopped].sort()).toEqual(["0 0", "0 1", "1 0"]);
  expect(sealed()).toEqual(before);
}, 60_000);
