/**
 * The blocklists of weak keys in a running instance: read at the start, read again on SIGHUP, and
 * never half.
 */

import { afterAll, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { parseCsr } from "#core/x509/csr.ts";
import { fingerprint } from "#core/x509/public-keys.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { failedStart, Instance, newHome } from "#test/support/instances/instance.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";

const homes: string[] = [];
const instances: Instance[] = [];
afterAll(async () => {
  for (const instance of instances) await instance.stop();
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

function listedIn(home: string, lines: string): Record<string, unknown> {
  const file = join(home, "weak-keys.txt");
  writeFileSync(file, lines);
  return { keychecks: { weak_key_blocklist_paths: [file] } };
}

test("a list that cannot be read to its last line stops the start, and says where", async () => {
  const home = newHome();
  homes.push(home);
  const answer = await failedStart({ home, config: listedIn(home, "# Debian\nno digest\n") });
  expect(answer.code).toBe(1);
  expect(answer.stderr).toContain("weak-keys.txt: line 2 is no digest");
}, 30_000);

test("a key that joins a list is refused from the next SIGHUP on; a broken list changes nothing", async () => {
  const home = newHome();
  homes.push(home);
  const instance = await Instance.start({ home, config: listedIn(home, "") });
  instances.push(instance);
  const chain = await createChain(instance, "ecdsa-p256");
  const csr = await newCsr(home, "weak.example.test");
  const issue = () =>
    instance.admin("POST", `/api/ca/${chain.intermediateId}/issue`, { csr }).then(
      () => "issued",
      (error: Error) => /"code":"(debian_weak_key)"/.exec(error.message)?.[1] ?? error.message,
    );
  expect(await issue()).toBe("issued");
  listedIn(home, `${fingerprint(parseCsr(csr).spki)}\n`);
  instance.signal("SIGHUP");
  await instance.logged("config_reloaded");
  expect(await issue()).toBe("debian_weak_key");
  listedIn(home, "no digest\n");
  instance.signal("SIGHUP");
  await instance.logged("config_reload_failed");
  expect(await issue()).toBe("debian_weak_key");
}, 60_000);
