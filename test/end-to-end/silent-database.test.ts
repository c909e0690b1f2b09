/**
 * A database that falls silent: requests are refused with a time to come again, and the process
 * still ends when told to.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { sha256Hex } from "#core/crypto.ts";
import { parseCrl } from "#core/x509/crl.ts";
import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { type FrozenPath, openPath } from "#test/support/servers/frozen-path.ts";
import { Instance, newHome, runCli } from "#test/support/instances/instance.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";
import { newCsr, openssl, saved } from "#test/support/instances/relying-party.ts";
import { until } from "#test/support/until.ts";

let server: PostgresServer;
let path: FrozenPath;
let instance: Instance;
let chain: Chain;
let csr: string;
let secret: string;
let question: string;
let config: Record<string, unknown>;

beforeAll(async () => {
  server = await startPostgres();
  const dsn = new URL(await server.createDatabase());
  path = await openPath(Number(dsn.port));
  dsn.port = String(path.port);
  const home = newHome();
  config = {
    database: { driver: "postgres", dsn: dsn.href },
    server: {
      public_http: { enabled: true, address: "127.0.0.1:0" },
      shutdown_timeout_seconds: 20,
    },
    presign: { enabled: true },
  };
  // Writes the configuration the migration reads.
  await expect(Instance.start({ home, config })).rejects.toThrow();
  expect((await runCli(home, ["migrate"])).code).toBe(0);
  instance = await Instance.start({ home, config });
  chain = await createChain(instance, "ecdsa-p256");
  csr = await newCsr(home, "silent.example.test");
  secret = await instance.token(["issuer"]);
  const { certificate } = (await (await issue()).json()) as { certificate: string };
  const leaf = saved(chain.folder, "leaf.pem", certificate);
  const about = ["-issuer", chain.intermediate, "-cert", leaf, "-no_nonce"];
  await openssl(["ocsp", ...about, "-reqout", `${leaf}.request`]);
  question = Buffer.from(await Bun.file(`${leaf}.request`).bytes()).toString("base64url");
}, 120_000);

afterAll(async () => {
  path?.thaw();
  await instance?.dispose();
  path?.close();
  await server.stop();
});

test("over a frozen path requests are 503 with Retry-After, OCSP is tryLater, and all is well when it is back", async () => {
  expect((await ocsp()).status).toBe(200);
  let published = new Uint8Array();
  await until(async () => {
    published = await (await crl()).bytes();
    return existsSync(join(instance.dataDir, "crl-copies", sha256Hex(published)));
  });
  path.freeze();
  const answers = await Promise.all([issue(), ocsp(), instance.fetch("/readyz")]);
  for (const answer of answers) {
    expect([answer.status, answer.headers.has("retry-after")]).toEqual([503, true]);
  }
  // OCSPResponseStatus tryLater: what another replica has revoked cannot be known.
  expect(Buffer.from(await (await ocsp()).bytes()).toString("hex")).toBe("30030a0103");
  // http-api 4.8: a CRL is served from its copy until it expires.
  const copied = await crl();
  expect(copied.status).toBe(200);
  expect(parseCrl(await copied.bytes()).number).toBeGreaterThanOrEqual(
    parseCrl(published).number ?? 0,
  );
  path.thaw();
  while ((await instance.fetch("/readyz")).status !== 200) await Bun.sleep(100);
  expect((await issue()).status).toBe(201);
  expect((await ocsp()).status).toBe(200);
  const silent = instance.logs.filter((line) => line.includes("the database does not answer"));
  expect(silent).toHaveLength(1);
}, 90_000);

test("told to stop while the path is frozen, the process ends within its time, and the next start serves", async () => {
  path.freeze();
  const waiting = issue().catch(() => undefined);
  expect(await instance.stop()).toBe(0);
  await waiting;
  path.thaw();
  instance = await Instance.start({ home: instance.home, config });
  expect((await issue()).status).toBe(201);
}, 90_000);

test("told to stop while a signer hangs, the process ends when its time is over, and says so", async () => {
  await instance.stop();
  // Less than the two seconds a signer is given to end by itself.
  const server = { ...(config.server as object), shutdown_timeout_seconds: 1 };
  instance = await Instance.start({ home: instance.home, config: { ...config, server } });
  const [signer] = instance.signers();
  if (signer === undefined) throw new Error("there is no signer");
  process.kill(signer, "SIGSTOP");
  try {
    const waiting = issue().catch(() => undefined);
    instance.signal("SIGTERM");
    expect(await instance.exited).toBe(1);
    await waiting;
    expect(instance.logs.some((line) => line.includes('"stop_cut_short"'))).toBe(true);
  } finally {
    endIfThere(signer);
  }
}, 90_000);

function endIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The server has ended it already.
  }
}

const issue = () =>
  instance.fetch(`/api/ca/${chain.intermediateId}/issue`, {
    method: "POST",
    body: JSON.stringify({ csr }),
    headers: { authorization: `Token ${secret}`, "content-type": "application/json" },
  });

const crl = () => fetch(`${instance.publicUrl}/api/ca/${chain.intermediateId}/crl`);

const ocsp = () =>
  fetch(`${instance.publicUrl}/api/ca/${chain.intermediateId}/ocsp/${question}`, {
    headers: { "cache-control": "no-cache" },
  });
