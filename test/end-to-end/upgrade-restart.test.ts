/**
 * A new binary replaces a running one under load: no request is refused. In the long run clients do
 * not pause between requests, and make more of them between two restarts.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

import { Instance, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";
import { startClients, worldOf } from "#test/support/instances/clients-of-all.ts";
import { Load } from "#test/support/instances/load.ts";
import { otherBuild } from "#test/support/instances/other-build.ts";
import { openssl } from "#test/support/instances/relying-party.ts";
import { selectByRun } from "#test/support/run-length.ts";
import { Balancer } from "#test/support/servers/balancer.ts";
import { heldSocket } from "#test/support/servers/held-sockets.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";

const newer = "9.9.9-next";
const pauseMs = selectByRun(40, 0);
/** Responses that each client gets between two restarts. */
const responses = selectByRun(8, 20);
const bindings = [{ name: "robots", subject_cn: "robot", subject: "robot", roles: ["issuer"] }];
const closing: (() => unknown)[] = [];
let next: string;
let clientCa: string;
let server: PostgresServer;

beforeAll(async () => {
  [next, server] = await Promise.all([otherBuild(newer), startPostgres()]);
  clientCa = join(dirname(next), "clients.pem");
  const key = ["-newkey", "ed25519", "-nodes", "-keyout", join(dirname(next), "clients.key")];
  await openssl(["req", "-x509", ...key, "-subj", "/CN=Clients", "-out", clientCa]);
  closing.push(
    () => rmSync(dirname(next), { recursive: true }),
    () => server.stop(),
  );
}, 90_000);

afterAll(async () => {
  for (const close of closing.toReversed()) await close();
}, 60_000);

/** Nothing failed, everybody had answers, and what was acknowledged is there. */
async function kept(load: Load, instance: Instance, id: string, serials: ReadonlySet<string>) {
  await load.stop();
  expect(load.failures).toEqual([]);
  expect([...load.answered.values()].every((count) => count > 0)).toBe(true);
  expect(serials.size).toBeGreaterThan(0);
  for (const serial of serials) {
    const path = `/api/ca/${id}/certificates/${serial}`;
    expect(await instance.admin<object>("GET", path)).toMatchObject({ status: "good" });
  }
  expect((await instance.cli("audit", "verify")).code).toBe(0);
}

const versionOf = async (instance: Instance): Promise<string> =>
  (await (await instance.fetch("/healthz")).json()).build.version;

for (const [name, asks] of [
  ["", false],
  [" that asks clients for certificates", true],
] as const) {
  test(`one instance${name} is replaced under load without a refused or reset request`, async () => {
    const sockets = { main: heldSocket(), public: heldSocket() };
    for (const { close } of Object.values(sockets)) closing.push(close);
    const home = newHome();
    const address = `127.0.0.1:${sockets.public.port}`;
    const config = {
      server: { port: sockets.main.port, public_http: { enabled: true, address } },
      auth: { mtls: { enabled: asks, ca_file: clientCa, bindings } },
    };
    const first = await Instance.start({ home, config, sockets });
    closing.push(() => rmSync(home, { recursive: true, force: true }));
    const world = await worldOf(first);
    const [main, open, ca] = [first.url, first.publicUrl, [first.servingCa()]];
    const { load, serials, close } = startClients({ ...world, main, open, ca, pauseMs });
    closing.push(close);
    let instance = first;
    for (const binary of [next, undefined, next]) {
      await load.more(responses);
      expect(await instance.stop()).toBe(0);
      instance = await Instance.start({ home, config, sockets, ...(binary && { binary }) });
      expect((await versionOf(instance)) === newer).toBe(binary !== undefined);
    }
    await load.more(responses);
    await kept(load, instance, world.id, serials);
    await instance.stop();
  }, 120_000);
}

test("another serving certificate takes over a socket that was handed over, and nobody is refused", async () => {
  const main = heldSocket();
  closing.push(main.close);
  const home = newHome();
  const pairs = await Promise.all(
    ["before", "after"].map(async (name) => {
      const [tls_cert, tls_key] = [join(home, `${name}.crt`), join(home, `${name}.key`)];
      const made = ["-newkey", "ed25519", "-nodes", "-keyout", tls_key, "-out", tls_cert];
      await openssl(["req", "-x509", ...made, "-subj", `/CN=${name}`]);
      return { tls_cert, tls_key };
    }),
  );
  const config = (pair = pairs[0]) => ({ server: { port: main.port, ...pair } });
  const instance = await Instance.start({ home, config: config(), sockets: { main } });
  closing.push(() => instance.dispose());
  const load = new Load(pauseMs);
  const ask = (keepalive: boolean) => async () =>
    (await fetch(`${instance.url}/healthz`, { keepalive, tls: { rejectUnauthorized: false } }))
      .status;
  load.start("kept", ask(true));
  load.start("anew", ask(false));
  const shown = async () => {
    const { text } = await openssl(["s_client", "-connect", `127.0.0.1:${main.port}`]);
    return /^subject=CN ?= ?(.*)$/m.exec(text)?.[1];
  };
  for (const [index, name] of [
    [1, "after"],
    [0, "before"],
    [1, "after"],
  ] as const) {
    await load.more(selectByRun(10, 50));
    writeConfig(home, config(pairs[index]));
    instance.signal("SIGHUP");
    while ((await shown()) !== name) await Bun.sleep(10);
  }
  await load.more(selectByRun(10, 50));
  await load.stop();
  expect(load.failures).toEqual([]);
}, 60_000);

test("a socket that no listener is configured for stops the start, which says so and founds nothing", async () => {
  const socket = heldSocket();
  closing.push(socket.close);
  const home = newHome();
  closing.push(() => rmSync(home, { recursive: true, force: true }));
  const start = Instance.start({
    home,
    config: { server: { port: 1 } },
    sockets: { main: socket },
  });
  const told = await start.then(String, String);
  expect(told).toContain(`A socket for port ${socket.port} (main) was handed over`);
  expect(told).toContain("server.port says 1; change one of them");
  expect(existsSync(join(home, "data"))).toBe(false);
}, 30_000);

test("two replicas are replaced one after the other, behind a balancer that asks whether they are ready, without a failed request", async () => {
  const database = { driver: "postgres", dsn: await server.createDatabase() };
  const open = { enabled: true, address: "127.0.0.1:0" };
  // Long beside a look of the balancer and beside a request, on whatever machine.
  const config = { database, server: { public_http: open, shutdown_delay_seconds: 5 } };
  const home = newHome();
  writeConfig(home, config);
  expect((await runCli(home, ["migrate"])).code).toBe(0);
  let one = await Instance.start({ home, config });
  // Software keys lie in the data directory of the first; the second uses them there.
  const keystore_dir = join(one.dataDir, "keys");
  const software = { keystore_dir, master_key_file: join(one.dataDir, "master.key") };
  const second = { ...config, key_provider: { software } };
  let two = await Instance.start({ config: second });
  closing.push(async () => {
    for (const instance of [one, two]) await instance.dispose();
  });
  const balancers = { main: await Balancer.open(100), open: await Balancer.open(100) };
  for (const balancer of Object.values(balancers)) closing.push(() => balancer.close());
  const put = async (name: string, instance: Instance) => {
    const ready = async () => (await instance.fetch("/readyz")).status === 200;
    const port = (url: string) => Number(new URL(url).port);
    await balancers.main.put(name, { port: port(instance.url), ready });
    await balancers.open.put(name, { port: port(instance.publicUrl), ready });
  };
  await Promise.all([put("one", one), put("two", two)]);
  const world = {
    ...(await worldOf(one)),
    main: `https://127.0.0.1:${balancers.main.port}`,
    open: `http://127.0.0.1:${balancers.open.port}`,
    ca: [one.servingCa(), two.servingCa()],
    pauseMs,
  };
  const { load, serials, close } = startClients(world);
  closing.push(close);
  await load.more(responses);
  expect(await one.stop()).toBe(0);
  one = await Instance.start({ home, config, binary: next });
  await put("one", one);
  await load.more(responses);
  expect(await two.stop()).toBe(0);
  two = await Instance.start({ home: two.home, config: second, binary: next });
  await put("two", two);
  await load.more(responses);
  expect([await versionOf(one), await versionOf(two)]).toEqual([newer, newer]);
  await kept(load, one, world.id, serials);
}, 120_000);
