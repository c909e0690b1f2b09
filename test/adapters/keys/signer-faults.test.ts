/** What happens to callers when the signer process dies, hangs or cannot start. */

import { afterEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { SignerClient } from "#adapters/keys/client.ts";
import type { KeySettings } from "#adapters/keys/settings.ts";
import type { KeyHandle } from "#domain/keys.ts";
import { until } from "#test/support/until.ts";
import { newKeyStore, newVersion, signerCommand } from "#test/support/keys/keystore.ts";
import { noLink } from "#test/support/keys/sealed-store.ts";
import { ticketFor, verifies } from "#test/support/keys/signing.ts";

const opened: SignerClient[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((client) => client.close()));
});

describe("a lost signer", () => {
  test("is replaced, and everything in flight is answered correctly", async () => {
    const { client, held } = await clientWithKey({ keyType: "rsa-4096" });
    const messages = Array.from({ length: 16 }, (_, index) => Buffer.from(`in flight ${index}`));
    const signing = messages.map((message) =>
      client.sign(ticketFor(held, "rsa-pkcs1-sha256", message), message),
    );
    await Bun.sleep(10);
    signal(client, "SIGKILL");
    const signatures = await Promise.all(signing);
    const good = messages.map((message, index) =>
      verifies(held, "rsa-pkcs1-sha256", message, signatures[index] ?? new Uint8Array()),
    );
    expect(good).toEqual(messages.map(() => true));
  });

  test("is replaced by one that serves the next caller", async () => {
    const { client, held, faults } = await clientWithKey({});
    for (let round = 0; round < 4; round += 1) {
      signal(client, "SIGKILL");
      expect(await signs(client, held)).toBe(true);
    }
    expect(faults).toContain("The signer was lost and is started again.");
  });

  test("does not make a key twice", async () => {
    const { client } = await clientWithKey({});
    const wanted = {
      provider: "software",
      label: "slow",
      keyType: "rsa-4096",
      role: "ca",
    } as const;
    const generating = client.generate(wanted);
    signal(client, "SIGKILL");
    await expect(generating).rejects.toMatchObject({ code: "key_unavailable" });
  });
});

describe("a hung signer", () => {
  test("is ended after the deadline: the caller is refused, the next one served", async () => {
    const { client, held } = await clientWithKey({ operationTimeoutMs: 1500 });
    signal(client, "SIGSTOP");
    await expect(signs(client, held)).rejects.toMatchObject({
      code: "key_unavailable",
      facts: { retry_after: 2 },
    });
    expect(await signs(client, held)).toBe(true);
  });
});

describe("a signer that cannot start", () => {
  test("PRC-1: is tried again while the start has patience, which ends when it serves", async () => {
    const { client, marker } = brokenClient();
    writeFileSync(marker, "");
    const starting = client.start(30_000);
    await Bun.sleep(700);
    await Bun.file(marker).delete();
    await starting;
    expect((await client.facts())[0]).toMatchObject({ available: true });
  });

  test("PRC-1: keeps nobody waiting after that, refuses, and is tried on", async () => {
    const { client, marker } = brokenClient();
    writeFileSync(marker, "");
    await client.start(600);
    expect((await client.facts())[0]).toMatchObject({ available: false });
    await Bun.file(marker).delete();
    await until(async () => (await client.facts())[0]?.available === true);
  });

  test("refuses at once and comes back by itself", async () => {
    const { settings, marker, command } = breakable();
    const { client, held } = await clientWithKey({ settings, command });
    writeFileSync(marker, "");
    signal(client, "SIGKILL");
    await expect(signs(client, held)).rejects.toMatchObject({ code: "key_unavailable" });
    await expect(signs(client, held)).rejects.toMatchObject({ code: "key_unavailable" });
    expect((await client.facts())[0]).toMatchObject({ available: false });

    await Bun.file(marker).delete();
    const working = async () => {
      for (let round = 0; round < 100; round += 1) {
        if (await signs(client, held).catch(() => false)) return true;
        await Bun.sleep(50);
      }
      return false;
    };
    expect(await working()).toBe(true);
  });

  test("a wrong setting is told to whoever opens, and nothing is left running", async () => {
    const settings = newKeyStore();
    const passphrase = { type: "file", path: "/nonexistent/passphrase" } as const;
    const client = clientFor({ ...settings, software: { ...settings.software, passphrase } });
    await expect(client.start()).rejects.toMatchObject({
      name: "LaunchFault",
      kind: "configuration",
      message: "The file with the passphrase cannot be read.",
    });
    expect(client.signerPid).toBeUndefined();
  });
});

describe("a closed client", () => {
  test("refuses, and its signer is gone", async () => {
    const { client, held } = await clientWithKey({});
    const pid = client.signerPid;
    await client.close();
    await expect(signs(client, held)).rejects.toMatchObject({ code: "key_unavailable" });
    expect(() => process.kill(pid ?? 0, 0)).toThrow();
  });
});

/** A signer that ends at once while there is a file `marker`. */
function breakable() {
  const settings = newKeyStore();
  const marker = join(settings.software.keystore_dir, "..", "broken");
  const script = `[ -e "${marker}" ] && exit 3; exec "$@"`;
  return { settings, marker, command: ["/bin/sh", "-c", script, "sh", ...signerCommand] };
}

function brokenClient() {
  const { settings, marker, command } = breakable();
  return { client: clientFor(settings, { command }), marker };
}

interface ClientOptions {
  readonly settings?: KeySettings;
  readonly command?: readonly string[];
  readonly operationTimeoutMs?: number;
  readonly keyType?: "rsa-4096" | "ecdsa-p256";
}

async function clientWithKey(options: ClientOptions) {
  const faults: string[] = [];
  const client = clientFor(options.settings ?? newKeyStore(), options, faults);
  await client.start();
  await client.keks.use([await newVersion(client, 1)]);
  const keyType = options.keyType ?? "ecdsa-p256";
  const held = await client.generate({ provider: "software", label: "ca", keyType, role: "ca" });
  return { client, held, faults };
}

function clientFor(
  settings: KeySettings,
  options: ClientOptions = {},
  faults: string[] = [],
): SignerClient {
  const client = new SignerClient({
    configuration: { provider: "software", software: settings.software, keks: [] },
    carry: noLink.request,
    command: options.command ?? signerCommand,
    privateDir: settings.privateDir,
    operationTimeoutMs: options.operationTimeoutMs ?? 10_000,
    hooks: { fault: (sentence) => faults.push(sentence) },
  });
  opened.push(client);
  return client;
}

async function signs(client: SignerClient, held: KeyHandle): Promise<boolean> {
  const message = Buffer.from("anything");
  const signature = await client.sign(ticketFor(held, "ecdsa-sha256", message), message);
  return verifies(held, "ecdsa-sha256", message, signature);
}

function signal(client: SignerClient, name: "SIGKILL" | "SIGSTOP"): void {
  if (client.signerPid === undefined) throw new Error("the signer runs");
  process.kill(client.signerPid, name);
}
