/**
 * A token that locks: its last try is never spent unasked, no PIN it refused is shown to it again,
 * and it is served when it is unlocked.
 */

import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { SignerClient } from "#adapters/keys/client.ts";
import type { Pkcs11Settings } from "#adapters/keys/settings.ts";
import { newKeyStore, signerCommand } from "#test/support/keys/keystore.ts";
import { newLockingModule } from "#test/support/keys/locking-module.ts";
import { newSoftHsm, softHsmModule } from "#test/support/keys/softhsm.ts";

setDefaultTimeout(60_000);
const opened: SignerClient[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((client) => client.close()));
});

if (softHsmModule === undefined) describe.todo("a token that locks: SoftHSM is not installed here");
else declareAll(softHsmModule);

function declareAll(real: string): void {
  const own = "correct-pin";
  /** A token that takes `left` of `all` wrong PINs yet, and a PIN file. */
  const locking = (left: number, all: number, options?: { readonly silent: boolean }) => {
    const module = newLockingModule(real, own);
    module.set(left, all, options);
    const token = newSoftHsm({ module_path: module.path });
    const path = join(mkdtempSync(join(tmpdir(), "pkid-pin-")), "pin");
    const write = (text: string) => writeFileSync(path, `${text}\n`, { mode: 0o600 });
    const settings = { ...token.settings, pin: { type: "file", path } as const };
    const { privateDir } = newKeyStore();
    const record = join(privateDir, "refused-pins");
    /** A server, or one that only looks; the same place every time. */
    const start = async (pin: string, lookingOnly = false) => {
      write(pin);
      const made = clientFor(settings, privateDir, lookingOnly);
      await made.client.start();
      return made;
    };
    return { module, write, start, record };
  };

  test("SIGHUP does not show it the same PIN again, whether its signer lives or has died, nor does a later server", async () => {
    const { module, start } = locking(3, 3);
    const { client, faults } = await start("wrong-pin");
    for (let look = 0; look < 3; look += 1) {
      for (const pid of signers()) process.kill(pid, "SIGKILL");
      await Bun.sleep(200);
      client.again();
      await settled(client);
      client.again();
    }
    await Bun.sleep(300);
    expect([module.shown(), module.left()]).toEqual([["wrong-pin"], 2]);
    expect(faults[0]).toBe("The token refused the PIN. CKR_PIN_INCORRECT");
    await client.close();
    const later = await start("wrong-pin");
    expect([module.shown(), await errorOf(later.client)]).toEqual([["wrong-pin"], refused]);
  });

  test("two wrong PINs that come in turns are shown to it once each", async () => {
    const { module, write, start } = locking(9, 9);
    const { client } = await start("wrong-1");
    for (let turn = 0; turn < 6; turn += 1) {
      write(turn % 2 === 0 ? "wrong-2" : "wrong-1");
      client.again();
      if (turn === 0) await until(() => module.shown().includes("wrong-2"));
      await Bun.sleep(400);
      if (turn === 3) for (const pid of signers()) process.kill(pid, "SIGKILL");
    }
    expect(module.shown()).toEqual(["wrong-1", "wrong-2"]);
  });

  test("on its last try, a PIN found changed waits for SIGHUP, and the refused one is never shown", async () => {
    const { module, write, start } = locking(2, 3);
    const { client, faults } = await start("wrong-pin");
    expect(await errorOf(client)).toBe(refusedBeforeLast);
    client.again();
    await Bun.sleep(500);
    write(own);
    await until(async () => (await errorOf(client)) === lastTry || module.shown().length > 1);
    await Bun.sleep(2500);
    expect([module.shown(), module.left()]).toEqual([["wrong-pin"], 1]);
    client.again();
    await until(() => serves(client));
    expect([module.shown(), module.left()]).toEqual([["wrong-pin", own], 3]);
    expect(faults).toEqual([
      `${refusedBeforeLast} CKR_PIN_INCORRECT`,
      `${lastTry} it was not presented`,
    ]);
  });

  test("on its last try, a PIN it has not seen is shown at a start", async () => {
    const { module, start } = locking(1, 3);
    const { client } = await start(own);
    expect([await serves(client), module.left()]).toEqual([true, 3]);
  });

  test("on its last try, nothing is shown by who only looks, nor by a signer that follows another", async () => {
    const { module, start } = locking(1, 3);
    const looking = await start(own, true);
    expect([await errorOf(looking.client), module.shown()]).toEqual([lastTry, []]);
    await looking.client.close();
    const { client } = await start(own);
    module.set(1, 3);
    process.kill(client.signerPid ?? 0, "SIGKILL");
    await until(async () => (await errorOf(client)) === lastTry);
    expect(module.shown()).toEqual([own]);
    client.again();
    await until(() => serves(client));
    expect(module.shown()).toEqual([own, own]);
  });

  test("looking shows it a refused PIN no second time", async () => {
    const { module, start } = locking(9, 9, { silent: true });
    for (let look = 0; look < 3; look += 1) {
      const { client } = await start("wrong-pin", true);
      expect(await errorOf(client)).toBe(refused);
      await client.close();
    }
    expect(module.shown()).toEqual(["wrong-pin"]);
  });

  test("locked, it is shown nothing; unlocked, the PIN as it stands is tried on SIGHUP, once", async () => {
    const { module, write, start } = locking(1, 3);
    const { client, faults } = await start("wrong-pin");
    expect([await errorOf(client), module.left()]).toEqual([locked, 0]);
    client.again();
    write("another");
    client.again();
    await Bun.sleep(300);
    write("wrong-pin");
    expect(module.shown()).toEqual(["wrong-pin"]);
    module.set(3, 3, { pin: "no-such" });
    client.again();
    await until(() => module.shown().length > 1);
    client.again();
    await Bun.sleep(300);
    expect(module.shown()).toEqual(["wrong-pin", "wrong-pin"]);
    // The security officer has set the PIN to what is configured.
    module.set(3, 3, { pin: "wrong-pin" });
    client.again();
    await until(() => serves(client));
    expect([module.shown().length, module.left()]).toEqual([3, 3]);
    expect(faults).toEqual([`${locked} CKR_PIN_INCORRECT`, `${refused} CKR_PIN_INCORRECT`]);
  });

  test("one that was locked before is not shown the PIN, and serves by itself with another one once it is unlocked", async () => {
    const { module, start } = locking(0, 3);
    const { client } = await start(own);
    expect([await errorOf(client), module.shown()]).toEqual([locked, []]);
    module.set(3, 3);
    await until(() => serves(client));
    expect(module.shown()).toEqual([own]);
  });

  test("one that says only when asked that it is locked is asked again on SIGHUP, and not before", async () => {
    const { module, start } = locking(0, 3, { silent: true });
    const { client, faults } = await start(own);
    expect([await errorOf(client), faults]).toEqual([locked, [`${locked} CKR_PIN_LOCKED`]]);
    await Bun.sleep(2500);
    module.set(3, 3, { silent: true });
    expect(module.shown()).toEqual([own]);
    client.again();
    await until(() => serves(client));
  });

  test("a PIN from the environment is shown to it on SIGHUP once it is unlocked, though it left the environment", async () => {
    const module = newLockingModule(real, own);
    module.set(1, 3, { pin: "no-such" });
    const { settings } = newSoftHsm({ module_path: module.path });
    const name = "PKID_TEST_LOCKED_PIN";
    process.env[name] = own;
    const pin = { type: "env", name } as const;
    const { client } = clientFor({ ...settings, pin }, newKeyStore().privateDir, false);
    await client.start();
    delete process.env[name];
    expect(await errorOf(client)).toBe(locked);
    module.set(3, 3, { pin: own });
    client.again();
    await until(() => serves(client));
    expect(module.shown()).toEqual([own, own]);
  });

  test("what is kept of refused PINs says none of them, is for this user alone, and goes when one is right", async () => {
    const { write, start, record } = locking(3, 3);
    const { client } = await start("wrong-pin");
    expect(readFileSync(record, "utf8")).not.toContain("wrong");
    expect(statSync(record).mode & 0o777).toBe(0o600);
    write(own);
    client.again();
    await until(() => serves(client));
    expect(() => statSync(record)).toThrow("ENOENT");
  });

  test("while what is kept cannot be read nothing is shown, and it says so", async () => {
    const { module, start, record } = locking(3, 3);
    const first = await start("wrong-pin");
    await first.client.close();
    writeFileSync(record, "{");
    const { client } = await start(own);
    expect(await errorOf(client)).toBe("The record of refused PINs cannot be read.");
    expect(module.shown()).toEqual(["wrong-pin"]);
    rmSync(record);
    client.again();
    await until(() => serves(client));
  });
}

const refused = "The token refused the PIN.";
const refusedBeforeLast =
  "The token refused the PIN and allows one last attempt; another PIN is given it on SIGHUP.";
const lastTry =
  "The token allows one last PIN attempt; the PIN is given it on SIGHUP or at a start.";
const locked = "The token's PIN is locked; have it unlocked, then send SIGHUP.";

const factsOf = async (client: SignerClient) => (await client.facts())[0];
const serves = async (client: SignerClient) => (await factsOf(client))?.available === true;
const errorOf = async (client: SignerClient) => (await factsOf(client))?.error;

/** A signer is there again and has said what it thinks of the PIN. */
const settled = (client: SignerClient) =>
  until(async () => signers().length > 0 && (await errorOf(client)) !== undefined);

async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await done())) await Bun.sleep(20);
}

function clientFor(pkcs11: Pkcs11Settings, privateDir: string, lookingOnly: boolean) {
  const faults: string[] = [];
  const client = new SignerClient({
    configuration: { provider: "pkcs11", pkcs11 },
    command: signerCommand,
    privateDir,
    lookingOnly,
    operationTimeoutMs: 10_000,
    hooks: { fault: (sentence, { reason = "" }) => faults.push(`${sentence} ${reason}`.trim()) },
    carry: () => Promise.reject(new Error("nothing is granted here")),
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
