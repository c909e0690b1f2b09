/**
 * A token that refused the PIN: no PIN is presented twice, another one is found without a restart,
 * and so is a key put back.
 */

import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

import { SignerClient } from "#adapters/keys/client.ts";
import type { Pkcs11Settings } from "#adapters/keys/settings.ts";
import { newFaultyModule } from "#test/support/keys/faulty-module.ts";
import { newKeyStore, signerCommand } from "#test/support/keys/keystore.ts";
import { newSoftHsm, softHsmModule } from "#test/support/keys/softhsm.ts";

setDefaultTimeout(60_000);
const opened: SignerClient[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((client) => client.close()));
});

if (softHsmModule === undefined) describe.todo("a refused PIN: SoftHSM is not installed here");
else declareAll(softHsmModule);

function declareAll(module: string): void {
  /** A token behind a module that counts logins, and a client that reads its PIN from a file. */
  const barred = async (pin: string) => {
    const counted = newFaultyModule(module);
    const hsmToken = newSoftHsm({ module_path: counted.path });
    const path = join(mkdtempSync(join(tmpdir(), "pkid-pin-")), "pin");
    const write = (text: string) => writeFileSync(path, `${text}\n`, { mode: 0o600 });
    write(pin);
    const { client, faults } = clientFor({
      ...hsmToken.settings,
      pin: { type: "file", path },
    });
    await client.start();
    return { client, faults, write, hsmToken, counted };
  };
  const serves = async (client: SignerClient) => (await client.facts())[0]?.available === true;
  const refused = "The token refused the PIN. CKR_PIN_INCORRECT";

  test("the same PIN is never presented again, however often it is looked at", async () => {
    const { client, faults, write, counted } = await barred("wrong-pin");
    for (let look = 0; look < 5; look += 1) {
      client.again();
      write("wrong-pin");
      await Bun.sleep(50);
    }
    expect(await serves(client)).toBe(false);
    expect([counted.logins(), faults]).toEqual([1, [refused]]);
    await expect(client.generate(wanted)).rejects.toMatchObject({
      code: "key_unavailable",
      facts: { retry_after: 60 },
    });
  });

  test("another one is presented once when it is asked to look again, and the right one serves", async () => {
    const { client, faults, write, hsmToken, counted } = await barred("wrong-pin");
    write("also-wrong");
    client.again();
    while (counted.logins() < 2) await Bun.sleep(20);
    client.again();
    await Bun.sleep(100);
    expect([counted.logins(), await serves(client)]).toEqual([2, false]);
    write(hsmToken.pin);
    client.again();
    while (!(await serves(client))) await Bun.sleep(20);
    expect(counted.logins()).toBe(3);
    expect((await client.generate(wanted)).ref.label).toBe("made after all");
    expect(faults).toEqual([refused]);
  });

  test("the right one is found by itself within seconds, also after the file was away", async () => {
    const { client, write, hsmToken, counted } = await barred("wrong-pin");
    write("");
    await Bun.sleep(100);
    write(hsmToken.pin);
    while (!(await serves(client))) await Bun.sleep(50);
    expect(counted.logins()).toBe(2);
  });

  test("a signer that dies while it waits has no successor before somebody asks for one", async () => {
    const { client, write, hsmToken, counted } = await barred("wrong-pin");
    for (const pid of signers()) process.kill(pid, "SIGKILL");
    await Bun.sleep(3000);
    expect([counted.logins(), await serves(client)]).toEqual([1, false]);
    write(hsmToken.pin);
    client.again();
    while (!(await serves(client))) await Bun.sleep(20);
    expect(counted.logins()).toBe(2);
  });

  test("a client closes while its signer waits for another PIN", async () => {
    const { client } = await barred("wrong-pin");
    const [pid] = signers();
    await client.close();
    while (signers().includes(pid ?? 0)) await Bun.sleep(20);
  });

  test("a key that was put back on the token is found when it is looked for again", async () => {
    const hsmToken = newSoftHsm();
    const { client } = clientFor(hsmToken.settings);
    await client.start();
    const folder = join(hsmToken.configurationFile, "..", "tokens");
    const objects = () =>
      readdirSync(folder, { recursive: true })
        .map(String)
        .filter((name) => name.endsWith(".object") && basename(name) !== "token.object");
    const held = await client.generate(wanted);
    const away = mkdtempSync(join(tmpdir(), "pkid-away-"));
    const moved = objects();
    for (const name of moved) renameSync(join(folder, name), join(away, basename(name)));
    await expect(client.find(held.ref)).rejects.toMatchObject({ code: "key_unavailable" });
    client.again();
    await expect(client.find(held.ref)).rejects.toMatchObject({ code: "key_unavailable" });
    for (const name of moved) renameSync(join(away, basename(name)), join(folder, name));
    client.again();
    expect(await client.find(held.ref)).toEqual(held);
  });
}

const wanted = {
  provider: "pkcs11",
  label: "made after all",
  keyType: "ecdsa-p256",
  role: "ca",
} as const;

function clientFor(pkcs11: Pkcs11Settings) {
  const faults: string[] = [];
  const client = new SignerClient({
    configuration: { provider: "pkcs11", pkcs11 },
    command: signerCommand,
    privateDir: newKeyStore().privateDir,
    operationTimeoutMs: 10_000,
    hooks: { fault: (sentence, { reason = "" }) => faults.push(`${sentence} ${reason}`.trim()) },
    carry: () => Promise.reject(new Error("nothing is carried here")),
  });
  opened.push(client);
  return { client, faults };
}

/** The processes this one has started that are signers. */
function signers(): readonly number[] {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8");
  return children
    .split(" ")
    .filter(Boolean)
    .map(Number)
    .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("signer-entry"));
}
