/** Emptying a real token from the shell, and the log of what was done with its keys. */

import { afterAll, beforeAll, expect, test } from "bun:test";

import { Instance } from "#test/support/instances/instance.ts";
import { createHsmToken, type SoftHsmToken } from "#test/support/keys/soft-token.ts";

let hsmToken: SoftHsmToken;
let instance: Instance;
let serial: string;
beforeAll(async () => {
  hsmToken = await createHsmToken();
  instance = await Instance.start({ config: hsmToken.config, env: hsmToken.env });
  expect((await instance.cli("ca", "init-root", "--label", "r", "--cn", "R")).code).toBe(0);
  serial = (await instance.admin<{ serial: string }>("GET", "/api/hsm/info")).serial;
}, 60_000);
afterAll(async () => {
  await instance.dispose();
  hsmToken.remove();
});

const reset = (...more: string[]) => instance.cli("hsm", "factory-reset", "--yes", ...more);

test("another serial, and a token whose keys are needed, are refused; then the keys are gone and on record", async () => {
  const other = await reset("--confirm", "0000");
  expect([other.code, other.stderr.includes("invalid_field")]).toEqual([1, true]);
  const used = await reset("--confirm", serial);
  expect([used.code, used.stderr.includes("keys_in_use")]).toEqual([1, true]);
  const unasked = await instance.cli("hsm", "factory-reset", "--confirm", serial);
  expect(unasked.code).toBe(2);
  expect((await reset("--confirm", serial, "--destroy-ca-keys")).code).toBe(0);
  const { items } = await instance.admin<{ items: { provider: string }[] }>(
    "GET",
    "/api/inventory/keys",
  );
  expect(items.filter(({ provider }) => provider === "pkcs11")).toEqual([]);
  expect((await instance.cli("crl", "publish", "--ca", "r")).code).toBe(1);
  const events = await instance.cli("audit", "list", "--action", "hsm.factory_reset", "--json");
  expect(JSON.parse(events.stdout).items).toMatchObject([{ target: serial, result: "success" }]);
}, 60_000);

test("the log of the keys lists what was made, used and destroyed, and every hash holds", async () => {
  const log = await instance.cli("hsm", "entries", "--all", "--json");
  expect(log.code).toBe(0);
  const { items, ledger_id } = JSON.parse(log.stdout);
  expect(ledger_id).not.toBe("");
  const kinds = items.map(({ kind, operation }: Readonly<Record<string, string>>) =>
    [kind, operation].filter(Boolean).join(" "),
  );
  for (const wanted of ["genesis", "key generate", "intent sign", "outcome sign", "key destroy"]) {
    expect(kinds).toContain(wanted);
  }
}, 60_000);
