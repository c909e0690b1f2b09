/**
 * Preflight of the binary against a real token: there, away, under a wrong PIN, one of two that
 * match.
 */

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { chmodSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { command } from "#test/support/instances/first-certificate.ts";
import { writeConfig } from "#test/support/instances/instance.ts";
import { preflight, said, stoppedHome } from "#test/support/instances/preflight.ts";
import { createHsmToken, type SoftHsmToken } from "#test/support/keys/soft-token.ts";

let hsmToken: SoftHsmToken;
let home: string;
const checks = ["keyprovider.ca", "pin.source", "pkcs11.uris", "keys.ca", "keys.extractable"];

beforeAll(async () => {
  hsmToken = await createHsmToken();
  home = await stoppedHome({ config: hsmToken.config, env: hsmToken.env }, async (instance) => {
    await command(instance, ["ca", "init-root", "--label", "root", "--cn", "Root"]);
  });
}, 30_000);
beforeEach(() => {
  writeConfig(home, hsmToken.config);
});
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
  hsmToken.remove();
});

const pinFile = () => join(hsmToken.folder, "pin");
const run = async (env = hsmToken.env) => (await preflight(home, checks, { env })).checks;
/** The token selected by a URI instead of its label. */
function selectedBy(uri: string): void {
  // Members by contract.
  const { token_label: _label, ...pkcs11 } = hsmToken.config.pkcs11 as Record<string, unknown>;
  writeConfig(home, { ...hsmToken.config, pkcs11: { ...pkcs11, uri } });
}

test("a token that answers, with its CA key inside for good, passes everywhere", async () => {
  const found = await run();
  expect(checks.map((name) => found[name]?.status)).toEqual([
    "pass",
    "pass",
    "skip",
    "pass",
    "pass",
  ]);
  selectedBy("pkcs11:token=pkid");
  expect((await run())["pkcs11.uris"]?.status).toBe("pass");
});

test("a token that was pulled out fails for provider and CA", async () => {
  const tokens = join(hsmToken.folder, "tokens");
  renameSync(tokens, `${tokens}.away`);
  try {
    const found = await run();
    expect([found["keyprovider.ca"]?.status, found["keys.ca"]?.status]).toEqual(["fail", "fail"]);
    selectedBy("pkcs11:token=pkid");
    expect((await run())["pkcs11.uris"]?.status).toBe("warn");
  } finally {
    renameSync(`${tokens}.away`, tokens);
  }
});

test("a URI that cannot select, or carries a PIN, fails in the words of the configuration", async () => {
  selectedBy("pkcs11:token=pkid?pin-value=1234");
  const found = await run();
  expect(found["pkcs11.uris"]).toMatchObject({
    status: "fail",
    detail: expect.stringContaining("pin-value"),
  });
  expect(found["keys.ca"]?.status).toBe("skip");
});

test("a PIN that cannot be had, or that others can read, fails and is not told", async () => {
  chmodSync(pinFile(), 0o644);
  const open = await run();
  expect([open["pin.source"]?.status, open["keyprovider.ca"]?.status]).toEqual(["fail", "fail"]);
  expect(JSON.stringify(open)).not.toContain("1234");
  renameSync(pinFile(), `${pinFile()}.away`);
  expect((await run())["pin.source"]?.detail).toContain("does not exist");
  renameSync(`${pinFile()}.away`, pinFile());
  chmodSync(pinFile(), 0o600);
});

test("a wrong PIN fails, and a second token of the name too", async () => {
  writeFileSync(pinFile(), "4321\n");
  expect((await said(home, "keyprovider.ca", { env: hsmToken.env })).status).toBe("fail");
  writeFileSync(pinFile(), "1234\n");
  const again = ["--init-token", "--free", "--label", "pkid", "--so-pin", "5678", "--pin", "1234"];
  const made = Bun.spawnSync(["softhsm2-util", ...again], {
    env: { PATH: process.env.PATH ?? "", ...hsmToken.env },
  });
  expect(made.exitCode).toBe(0);
  const found = await run();
  expect([found["keyprovider.ca"]?.status, found["keys.ca"]?.status]).not.toContain("pass");
});
