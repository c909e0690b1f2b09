/** The password made up at the first start is in its file, whole, before its hash is stored. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { failedStart, Instance, newHome } from "#test/support/instances/instance.ts";

test("a password that cannot be kept is nobody's: no hash is stored, and the next start makes up another", async () => {
  const home = newHome();
  const file = join(home, "data", "root-password");
  mkdirSync(file, { recursive: true, mode: 0o700 });
  writeFileSync(join(file, "in the way"), "");
  const refused = await failedStart({ home });
  expect(refused.code).toBe(1);
  const database = new Database(join(home, "data", "pkid.db"), { readonly: true });
  const stored = database.query("select name from instance where name = 'root_password_hash'");
  expect(stored.all()).toEqual([]);
  database.close();
  rmSync(file, { recursive: true });
  const instance = await Instance.start({ home });
  const password = readFileSync(file, "utf8").trim();
  const authorization = `Basic ${Buffer.from(`root:${password}`).toString("base64")}`;
  expect((await instance.fetch("/api/ca", { headers: { authorization } })).status).toBe(200);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  // It got its name when it had been synced; nothing of the way there is left.
  expect(readdirSync(join(home, "data")).filter((name) => name.startsWith(".new-"))).toEqual([]);
  await instance.dispose();
}, 60_000);
