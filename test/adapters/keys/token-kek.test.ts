/** Software keys whose KEK is on a token: what goes on without the token, and what waits for it. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";

import { type ClientDeps, SignerClient } from "#adapters/keys/client.ts";
import type { SignerConfiguration } from "#adapters/keys/settings.ts";
import type { KeyHandle } from "#domain/keys.ts";
import { newKeyStore, newVersion, signerCommand } from "#test/support/keys/keystore.ts";
import { noLink } from "#test/support/keys/sealed-store.ts";
import { ticketFor, verifies } from "#test/support/keys/signing.ts";
import { newSoftHsm, type SoftHsm, softHsmModule } from "#test/support/keys/softhsm.ts";

if (softHsmModule === undefined) describe.todo("KEK on a token: SoftHSM is not installed here");
else {
  let hsm: SoftHsm;
  let hsmToken: SignerClient;
  let sealed: SignerClient;
  let first: KeyHandle;
  let second: KeyHandle;

  function client(configuration: SignerConfiguration, carry: ClientDeps["carry"]) {
    const { privateDir } = newKeyStore();
    const common = { command: signerCommand, privateDir, operationTimeoutMs: 10_000, hooks: {} };
    return new SignerClient({ ...common, configuration, carry });
  }
  const make = (label: string) =>
    sealed.generate({ provider: "software", label, keyType: "ecdsa-p256", role: "ca" });

  beforeEach(async () => {
    hsm = newSoftHsm();
    hsmToken = client({ provider: "pkcs11", pkcs11: hsm.settings }, noLink.request);
    const { software } = newKeyStore();
    sealed = client({ provider: "software", software, keks: [] }, (request) =>
      hsmToken.serve(request),
    );
    await Promise.all([hsmToken.start(), sealed.start()]);
    await sealed.keks.use([await newVersion(hsmToken, 1, "pkcs11")]);
    [first, second] = [await make("first"), await make("second")];
    expect(await signs(first)).toBe(true);
  }, 30_000);
  afterEach(() => Promise.all([hsmToken.close(), sealed.close()]));

  async function signs(held: KeyHandle): Promise<boolean> {
    const message = Buffer.from("anything");
    const signature = await sealed.sign(ticketFor(held, "ecdsa-sha256", message), message);
    return verifies(held, "ecdsa-sha256", message, signature);
  }

  test("with the token pulled out an open key signs, another is refused, and opens when it is back", async () => {
    hsm.pull();
    expect(await signs(first)).toBe(true);
    await expect(signs(second)).rejects.toMatchObject(shut);
    await expect(make("third")).rejects.toMatchObject(shut);
    hsm.plugIn();
    for (let round = 0; round < 100 && !(await signs(second).catch(() => false)); round += 1) {
      await Bun.sleep(100);
    }
    expect(await signs(second)).toBe(true);
    expect(await signs(await make("third"))).toBe(true);
  }, 60_000);

  test("a token that hangs ends no signer of software keys, and is waited for within their limit", async () => {
    const pid = sealed.signerPid;
    if (hsmToken.signerPid === undefined) throw new Error("the signer runs");
    process.kill(hsmToken.signerPid, "SIGSTOP");
    const waiting = signs(second);
    expect(await signs(first)).toBe(true);
    await expect(waiting).rejects.toMatchObject(shut);
    expect(await signs(first)).toBe(true);
    expect(sealed.signerPid).toBe(pid);
  }, 60_000);

  test("a successor of the software signer knows the versions, and opens keys again", async () => {
    if (sealed.signerPid === undefined) throw new Error("the signer runs");
    process.kill(sealed.signerPid, "SIGKILL");
    expect(await signs(second)).toBe(true);
    expect(await signs(first)).toBe(true);
  }, 60_000);
}

const shut = { code: "key_unavailable", facts: { retry_after: 2 } };
