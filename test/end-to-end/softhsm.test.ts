/**
 * The same service on keys in a token: the newcomer's walk, lost signers, a wrong PIN, a token that
 * is pulled out.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import {
  type Chain,
  createChain,
  walkCertificate,
} from "#test/support/instances/first-certificate.ts";
import { failedStart, Instance } from "#test/support/instances/instance.ts";
import { newFaultyModule } from "#test/support/keys/faulty-module.ts";
import { newLockingModule } from "#test/support/keys/locking-module.ts";
import { newCsr, openssl, saved } from "#test/support/instances/relying-party.ts";
import { createHsmToken, softHsmModule, type SoftHsmToken } from "#test/support/keys/soft-token.ts";

let hsmToken: SoftHsmToken;
let instance: Instance;
let chain: Chain;
/** Instance that waits half a minute for its device while other tests run. */
let longOffline: Awaited<ReturnType<typeof startWithoutDevice>>;

beforeAll(async () => {
  longOffline = await startWithoutDevice();
  hsmToken = await createHsmToken();
  const server = { public_http: { enabled: true, address: "127.0.0.1:0" } };
  instance = await Instance.start({ config: { ...hsmToken.config, server }, env: hsmToken.env });
  chain = await createChain(instance, "ecdsa-p256");
}, 60_000);

afterAll(async () => {
  await longOffline.end();
  await instance.dispose();
  hsmToken.remove();
});

describe("a chain whose keys are in a PKCS#11 token", () => {
  test("issues, and revokes, with ECDSA keys", async () => {
    await walkCertificate(instance, chain, "ecdsa-p256");
  }, 60_000);

  for (const keyType of ["rsa-2048", "ed25519"] as const) {
    test(`issues, and revokes, with ${keyType} keys`, async () => {
      await walkCertificate(instance, await createChain(instance, keyType), keyType);
    }, 60_000);
  }

  test("leaves no key outside the token but those of serving CA and ledger", async () => {
    const sealed = readdirSync(join(instance.dataDir, "keys")).filter((f) => f.endsWith(".key"));
    expect(sealed).toHaveLength(2);
  });
});

test("SIGKILL to the signers under load costs 503s at most, and they come back by themselves", async () => {
  const load = await Load.start(instance, chain);
  for (let kill = 0; kill < 2; kill++) {
    await load.issued(10);
    for (const pid of instance.signers()) process.kill(pid, "SIGKILL");
  }
  await load.issued(10);
  const { certificates, refusals } = await load.stop();
  expect(refusals.filter((refusal) => refusal !== "503 key_unavailable retry")).toEqual([]);
  for (const certificate of certificates.filter((_, at) => at % 5 === 0)) {
    const leaf = saved(chain.folder, "sample.pem", certificate);
    const path = ["verify", "-CAfile", chain.root, "-untrusted", chain.intermediate, leaf];
    expect((await openssl(path)).text).toContain("OK");
  }
  await ready(instance);
}, 60_000);

test("a token that is pulled out is a 503 until it is back, without a restart", async () => {
  const load = await Load.start(instance, chain);
  await load.issued(1);
  const tokens = join(hsmToken.folder, "tokens");
  renameSync(tokens, `${tokens}.away`);
  await load.refused(3);
  while ((await instance.fetch("/readyz")).status !== 503) await Bun.sleep(50);
  const { components } = (await (await instance.fetch("/readyz")).json()) as {
    components: { hsm: { status: string; error: string } };
  };
  expect(components.hsm.status).toBe("down");
  expect(components.hsm.error).not.toContain(hsmToken.folder);
  renameSync(`${tokens}.away`, tokens);
  await load.issued(3);
  const { refusals } = await load.stop();
  expect(new Set(refusals)).toEqual(new Set(["503 key_unavailable retry"]));
  await ready(instance);
}, 60_000);

describe("a wrong PIN", () => {
  test("leaves the instance alive but not ready, is presented to the token once, and is read again on SIGHUP", async () => {
    const other = await createHsmToken();
    const home = await founded(other);
    writeFileSync(join(other.folder, "pin"), "4321\n");
    const wrong = await Instance.start({ config: other.config, env: other.env, home });
    try {
      expect((await wrong.fetch("/healthz")).status).toBe(200);
      const readiness = await wrong.fetch("/readyz");
      expect(readiness.status).toBe(503);
      const text = await readiness.text();
      expect(text).toContain("PIN");
      const signers = wrong.signers();
      for (let attempt = 0; attempt < 3; attempt++) {
        const made = await wrong.cli("ca", "init-root", "--label", "r", "--cn", "R");
        expect(made.code).toBe(1);
        expect(made.stderr).toContain("key_unavailable");
        await wrong.fetch("/readyz");
      }
      // Beyond every delay of the breaker no further signer was started.
      await Bun.sleep(2500);
      expect(wrong.signers()).toEqual(signers);
      expect(wrong.logs.filter((line) => line.includes("refused the PIN"))).toHaveLength(1);
      expect(withoutRandom([...wrong.logs, text])).not.toContain("4321");
      // The file is mended: what a person says is read at once, in the same processes.
      writeFileSync(join(other.folder, "pin"), "1234\n");
      wrong.signal("SIGHUP");
      await ready(wrong);
      expect(wrong.signers()).toEqual(signers);
      expect((await wrong.cli("ca", "init-root", "--label", "r", "--cn", "R")).code).toBe(0);
    } finally {
      await wrong.dispose();
      other.remove();
    }
  }, 60_000);
});

test("log, readyz and preflight tell a wrong PIN, the last try and a locked token apart, and SIGHUP brings it back", async () => {
  const other = await createHsmToken();
  const module = newLockingModule(softHsmModule, "1234");
  module.set(3, 3);
  const { pkcs11 } = other.config as { pkcs11: object }; // As `createHsmToken` makes it.
  const config = { ...other.config, pkcs11: { ...pkcs11, module_path: module.path } };
  const write = (pin: string) => writeFileSync(join(other.folder, "pin"), `${pin}\n`);
  const home = await founded(other);
  write("4321");
  const wrong = await Instance.start({ config, env: other.env, home });
  const told = async (sentence: string) => {
    while (!(await (await wrong.fetch("/readyz")).text()).includes(sentence)) await Bun.sleep(100);
    const preflight = await wrong.cli("preflight", "--only", "keyprovider.ca", "--json");
    expect([preflight.code, preflight.stdout]).toEqual([2, expect.stringContaining(sentence)]);
    const said = wrong.logs.filter((line) => line.includes(JSON.stringify(sentence)));
    expect(said).toHaveLength(1);
  };
  try {
    await told("The token refused the PIN.");
    write("5432");
    wrong.signal("SIGHUP");
    await told(
      "The token refused the PIN and allows one last attempt; another PIN is given it on SIGHUP.",
    );
    wrong.signal("SIGHUP");
    await Bun.sleep(500);
    expect([module.shown(), module.left()]).toEqual([["4321", "5432"], 1]);
    write("6543");
    wrong.signal("SIGHUP");
    await told("The token's PIN is locked; have it unlocked, then send SIGHUP.");
    module.set(3, 3, { pin: "6543" });
    wrong.signal("SIGHUP");
    await ready(wrong);
    expect(module.shown()).toEqual(["4321", "5432", "6543", "6543"]);
    expect(withoutRandom(wrong.logs)).not.toMatch(/4321|5432|6543/);
  } finally {
    await wrong.dispose();
    other.remove();
  }
}, 60_000);

test("PRC-1: a device that is away at the start is waited for; after half a minute the server starts without it, not ready, until it is back", async () => {
  const soon = await startWithoutDevice();
  try {
    const first = await Promise.race([soon.starting, Bun.sleep(3000)]);
    expect(first).toBeUndefined();
    soon.module.away(false);
    const back = await soon.starting;
    expect((await back.fetch("/readyz")).status).toBe(200);
    const without = await longOffline.starting;
    expect(without.readyMs).toBeGreaterThan(29_000);
    expect((await without.fetch("/healthz")).status).toBe(200);
    expect((await without.fetch("/readyz")).status).toBe(503);
    const refused = await without.cli("ca", "init-root", "--label", "r", "--cn", "R");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("key_unavailable")]);
    longOffline.module.away(false);
    await ready(without);
  } finally {
    await soon.end();
  }
}, 120_000);

test("a start is refused when no token is the one configured (V-11)", async () => {
  const { pkcs11 } = hsmToken.config as { pkcs11: object }; // As `createHsmToken` makes it.
  const other = { ...hsmToken.config, pkcs11: { ...pkcs11, token_label: "another" } };
  const refused = await failedStart({ config: other, env: hsmToken.env });
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  expect(refused.stderr).toContain("No token matches the settings.");
}, 60_000);

/** Where an instance with this token has begun, and ended. */
async function founded({ config, env }: SoftHsmToken): Promise<string> {
  const instance = await Instance.start({ config, env });
  await instance.stop();
  return instance.home;
}

/** Starts an instance, known to its token, while the device of the token is offline. */
async function startWithoutDevice() {
  const token = await createHsmToken();
  const module = newFaultyModule(softHsmModule);
  const { pkcs11 } = token.config as { pkcs11: object }; // As `createHsmToken` makes it.
  const config = { ...token.config, pkcs11: { ...pkcs11, module_path: module.path } };
  const home = await founded({ ...token, config });
  module.away(true);
  const starting = Instance.start({ config, env: token.env, home });
  const end = async () => {
    module.away(false);
    await (await starting).dispose();
    token.remove();
  };
  return { module, starting, end };
}

async function ready(of: Instance): Promise<void> {
  while ((await of.fetch("/readyz")).status !== 200) await Bun.sleep(50);
}

/** Four clients that issue until told to stop, and remember every answer. */
class Load {
  readonly #certificates: string[] = [];
  readonly #refusals: string[] = [];
  #stopped = false;
  #clients: Promise<void>[] = [];

  static async start(target: Instance, { intermediateId }: Chain): Promise<Load> {
    const csr = await newCsr(target.home, "load.example.test");
    const secret = await target.token(["issuer"]);
    const load = new Load();
    const path = `/api/ca/${intermediateId}/issue`;
    const ask = () =>
      target.fetch(path, {
        method: "POST",
        body: JSON.stringify({ csr }),
        headers: { authorization: `Token ${secret}`, "content-type": "application/json" },
      });
    load.#clients = Array.from({ length: 4 }, () => load.#run(ask));
    return load;
  }

  async #run(ask: () => Promise<Response>): Promise<void> {
    while (!this.#stopped) {
      const response = await ask();
      const answer = (await response.json()) as { certificate: string; code: string };
      if (response.status === 201) this.#certificates.push(answer.certificate);
      else {
        const retry = response.headers.has("retry-after") ? "retry" : "no retry";
        this.#refusals.push(`${response.status} ${answer.code} ${retry}`);
        await Bun.sleep(20);
      }
    }
  }

  /** Waits for so many further certificates. */
  async issued(count: number): Promise<void> {
    const goal = this.#certificates.length + count;
    while (this.#certificates.length < goal) await Bun.sleep(5);
  }

  async refused(count: number): Promise<void> {
    while (this.#refusals.length < count) await Bun.sleep(5);
  }

  async stop() {
    this.#stopped = true;
    await Promise.all(this.#clients);
    return { certificates: this.#certificates, refusals: this.#refusals };
  }
}

/** Ids, digests and the names of folders are random, and may have any four digits in them. */
const withoutRandom = (lines: readonly string[]): string =>
  lines.join("\n").replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{64}|pkid-[\w-]+/g, "");
