/**
 * A whole service whose KEK has an ML-KEM half: from the start, switched on later, switched off,
 * and with the half gone.
 */

import { expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { readdirSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";

import { failedStart, Instance, runCli } from "#test/support/instances/instance.ts";
import { createHsmToken } from "#test/support/keys/soft-token.ts";

const on = { kek_label: "pkid-kek", pqc_hybrid: true };
const off = { kek_label: "pkid-kek", pqc_hybrid: false };

/** The format versions of all envelopes, of values and of private keys, of one KEK version. */
function formats({ dataDir }: Instance, kekVersion: number): Set<number> {
  const database = new Database(join(dataDir, "pkid.db"), { readonly: true });
  const rows = database.query("select envelope from sealed_values").all() as { envelope: string }[];
  database.close();
  const keys = join(dataDir, "keys");
  const files = readdirSync(keys).filter((name) => name.endsWith(".key"));
  const envelopes = [
    ...rows.map(({ envelope }) => JSON.parse(envelope)),
    ...files.map((name) => JSON.parse(readFileSync(join(keys, name), "utf8")).envelope),
  ];
  expect(rows.length * files.length).toBeGreaterThan(0);
  expect(new Set(envelopes.map(({ kek_version }) => kek_version))).toEqual(new Set([kekVersion]));
  return new Set(envelopes.map(({ v }) => v));
}

const halvesIn = ({ dataDir }: Pick<Instance, "dataDir">) =>
  readdirSync(join(dataDir, "keys")).filter((name) => name.endsWith(".mlkem"));

const preflight = ["preflight", "--only", "pqc.hybrid", "--json"];

function rowOf({ stdout }: { readonly stdout: string }): { status: string; detail: string } {
  return JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === "pqc.hybrid");
}

async function rotated(instance: Instance): Promise<void> {
  const answer = await instance.cli("keys", "kek", "rotate", "--json");
  expect([answer.code, answer.stderr]).toEqual([0, ""]);
}

test("KEK-5: on a token from the start, everything needs both halves, over rotation and restart", async () => {
  const hsmToken = await createHsmToken();
  const roles = { ca: "software", responder: "software" };
  const keyProvider = { key_provider: { type: "pkcs11", roles } };
  const options = { config: { ...hsmToken.config, ...keyProvider, secret: on }, env: hsmToken.env };
  let instance = await Instance.start(options);
  const made = await instance.cli("ca", "init-root", "--label", "root", "--cn", "Root");
  expect(made.code).toBe(0);
  expect(formats(instance, 1)).toEqual(new Set([2]));
  await rotated(instance);
  expect(formats(instance, 2)).toEqual(new Set([2]));
  const halves = halvesIn(instance);
  expect(halves).toHaveLength(2);
  for (const name of halves) {
    expect(statSync(join(instance.dataDir, "keys", name)).mode & 0o777).toBe(0o600);
  }
  expect(rowOf(await instance.cli(...preflight)).status).toBe("pass");
  const { home } = instance;
  await instance.stop();
  instance = await Instance.start({ home, ...options });
  expect((await instance.cli("crl", "publish", "--ca", "root")).code).toBe(0);
  await instance.dispose();
  hsmToken.remove();
}, 120_000);

test("KEK-5: switched on later it is there after a rotation, and switched off it goes on opening", async () => {
  let instance = await Instance.start({ config: { secret: off } });
  const { home } = instance;
  const restarted = async (secret: object) => {
    await instance.stop();
    instance = await Instance.start({ home, config: { secret } });
  };
  const made = await instance.cli("ca", "init-root", "--label", "root", "--cn", "Root");
  expect(made.code).toBe(0);
  expect(rowOf(await instance.cli(...preflight)).status).toBe("skip");
  await restarted(on);
  expect(formats(instance, 1)).toEqual(new Set([1]));
  const looked = rowOf(await instance.cli(...preflight));
  expect(looked).toMatchObject({
    status: "fail",
    detail: "Version 1 seals without an ML-KEM half.",
    remedy: "Run `keys kek rotate`.",
  });
  await rotated(instance);
  expect(formats(instance, 2)).toEqual(new Set([2]));
  expect(rowOf(await instance.cli(...preflight)).status).toBe("pass");
  await restarted(on);
  expect((await instance.cli("crl", "publish", "--ca", "root")).code).toBe(0);
  await restarted(off);
  expect(formats(instance, 2)).toEqual(new Set([2]));
  expect((await instance.cli("crl", "publish", "--ca", "root")).code).toBe(0);
  await rotated(instance);
  expect(formats(instance, 3)).toEqual(new Set([1]));
  expect(halvesIn(instance)).toHaveLength(1);
  await instance.dispose();
}, 120_000);

test("KEK-5: without its half nothing opens, no key is used, and pkid says so and does not start", async () => {
  const config = { secret: on };
  let instance = await Instance.start({ config });
  const made = await instance.cli("ca", "init-root", "--label", "root", "--cn", "Root");
  expect(made.code).toBe(0);
  const { home, dataDir } = instance;
  const [half = "", ...others] = halvesIn(instance);
  expect(others).toEqual([]);
  const path = join(dataDir, "keys", half);
  const away = join(home, half);
  renameSync(path, away);
  const gone = {
    status: "fail",
    detail: expect.stringContaining("version 1 is absent or unusable"),
  };
  expect(rowOf(await instance.cli(...preflight))).toMatchObject(gone);
  const later = await instance.cli("ca", "init-root", "--label", "other", "--cn", "Other");
  expect(later.code).not.toBe(0);
  await instance.stop();
  const looked = await runCli(home, preflight);
  expect(looked.code).not.toBe(0);
  expect(rowOf(looked)).toMatchObject(gone);
  for (const secret of [on, off]) {
    const failed = await failedStart({ home, config: { secret } });
    expect(failed.code).not.toBe(0);
    expect(failed.stderr).toContain("The ML-KEM half of KEK version 1 is not in this key store");
  }
  renameSync(away, path);
  instance = await Instance.start({ home, config });
  expect((await instance.cli("crl", "publish", "--ca", "root")).code).toBe(0);
  await instance.dispose();
}, 120_000);
