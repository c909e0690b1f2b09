/**
 * The process from start to stop: one per directory, draining, reload, and the command line beside
 * it.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:tls";
import { join } from "node:path";

import { command, createChain } from "#test/support/instances/first-certificate.ts";
import { ran } from "#test/support/child.ts";
import {
  binary,
  failedStart,
  Instance,
  newHome,
  runCli,
  writeConfig,
} from "#test/support/instances/instance.ts";
import { newCsr, openssl } from "#test/support/instances/relying-party.ts";
import { until } from "#test/support/until.ts";

const instances: Instance[] = [];
const homes: string[] = [];
afterAll(async () => {
  for (const instance of instances) await instance.dispose();
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

async function start(...given: Parameters<typeof Instance.start>): Promise<Instance> {
  const instance = await Instance.start(...given);
  instances.push(instance);
  return instance;
}

function privateHome(): string {
  const home = newHome();
  homes.push(home);
  return home;
}

describe("a stop", () => {
  test("SIGTERM lets a request under way finish, refuses new ones, and exits 0", async () => {
    const instance = await start();
    const token = await instance.token(["admin"]);
    const upload = await HalfSent.post(instance, "/api/ca/init-root", token, '{"label":"x"}');
    const other = await HalfSent.open(instance);
    instance.signal("SIGTERM");
    await instance.logged("stopping");
    const refused = await other.ask("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(refused).toStartWith("HTTP/1.1 503");
    expect(refused).toContain('"code":"shutting_down"');
    expect(refused.toLowerCase()).toContain("retry-after: 5");
    const answered = await upload.finish();
    expect(answered).toStartWith("HTTP/1.1 400");
    expect(await instance.exited).toBe(0);
    await instance.logged("stopped");
    expect(existsSync(join(instance.dataDir, "admin.sock"))).toBe(false);
  }, 30_000);

  test("within server.shutdown_delay_seconds it is not ready and serves, and each answer closes its connection", async () => {
    const instance = await start({ config: { server: { shutdown_delay_seconds: 2 } } });
    const readiness = () => instance.fetch("/readyz");
    expect((await readiness()).status).toBe(200);
    instance.signal("SIGTERM");
    await instance.logged("stopping");
    const answer = await readiness();
    expect([answer.status, answer.headers.get("connection")]).toEqual([503, "close"]);
    const kept = await HalfSent.open(instance);
    const served = await kept.ask("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(served).toStartWith("HTTP/1.1 200");
    expect(served.toLowerCase()).toContain("\r\nconnection: close\r\n");
    expect(await instance.exited).toBe(0);
  }, 30_000);

  test("signals that come before the server is ready are heard once it is", async () => {
    const home = privateHome();
    const config = writeConfig(home, {});
    const child = Bun.spawn([binary, "serve", "--config", config], {
      cwd: home,
      env: process.env,
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
    const log = new Response(child.stderr).text();
    // The lock is taken long before anything listens.
    while (!existsSync(join(home, "data", "lock"))) await Bun.sleep(1);
    child.kill("SIGHUP");
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
    expect(await log).toContain('"msg":"stopped"');
  }, 60_000);

  test("no signer outlives its server, however that ended", async () => {
    const instance = await start();
    const signers = instance.signers();
    expect(signers.length).toBeGreaterThan(0);
    await instance.kill();
    for (const pid of signers) while (alive(pid)) await Bun.sleep(10);
  }, 30_000);
});

describe("one process per data directory", () => {
  test("a second server is refused, names the first one's process id, and does it no harm", async () => {
    const instance = await start();
    const second = await failedStart({ home: instance.home });
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`process ${instance.pid}`);
    expect((await instance.fetch("/readyz")).status).toBe(200);
    expect((await instance.cli("ca", "list")).code).toBe(0);
  }, 30_000);

  test("a server waits for a command that holds the data directory, and starts after it", async () => {
    const home = privateHome();
    const folder = join(home, "data");
    mkdirSync(folder, { mode: 0o700 });
    const lock = join(folder, "lock");
    const holder = Bun.spawn(["flock", "--no-fork", "-x", lock, "sleep", "60"], {
      stdout: "ignore",
    });
    while (Bun.spawnSync(["flock", "-n", "-x", lock, "true"]).exitCode === 0) await Bun.sleep(5);
    const starting = Instance.start({ home });
    const log = () => readdirSync(home).find((name) => name.startsWith("log-"));
    const isWaiting = () =>
      readFileSync(join(home, log() ?? ""), "utf8").includes("waiting_for_data_directory");
    await until(() => log() !== undefined && isWaiting());
    holder.kill("SIGKILL");
    const instance = await starting;
    expect((await instance.fetch("/readyz")).status).toBe(200);
    await instance.dispose();
  }, 30_000);

  test("removed sockets are opened again with their modes, and clients reach the server", async () => {
    const home = privateHome();
    const sockets = [join(home, "data", "admin.sock"), join(home, "unix.sock")] as const;
    const [, path] = sockets;
    const instance = await Instance.start({
      home,
      config: { server: { unix_socket: { path, mode: "0660" } } },
    });
    const request = () => fetch("http://localhost/healthz", { unix: path, keepalive: false });
    for (let round = 0; round < 2; round++) {
      for (const socket of sockets) rmSync(socket);
      await until(() => sockets.every((socket) => existsSync(socket)));
      await until(async () => (await request().catch(() => undefined))?.status === 200);
      expect((await instance.cli("ca", "list")).code).toBe(0);
      expect(sockets.map((socket) => statSync(socket).mode & 0o777)).toEqual([0o600, 0o660]);
    }
    await instance.logged("admin_socket_restored");
    await instance.logged("unix_socket_restored");
    await instance.stop();
    expect(sockets.filter((socket) => existsSync(socket))).toEqual([]);
  }, 30_000);

  test("a command works without a server, through the same gates, and leaves its event", async () => {
    const home = privateHome();
    await (await Instance.start({ home })).stop();
    const root = ["ca", "init-root", "--label", "offline", "--cn", "Offline Root", "--json"];
    expect((await runCli(home, root)).code).toBe(0);
    const again = await runCli(home, root);
    expect([again.code, again.stdout]).toEqual([1, ""]);
    expect(JSON.parse(again.stderr)).toMatchObject({ code: "already_exists" });
    const events = await runCli(home, ["audit", "list", "--json"]);
    // The server that founded the instance made the CA of its own certificate, as itself.
    const made = JSON.parse(events.stdout).items.filter(
      (event: { action: string; actor: string }) =>
        event.action === "ca.init_root" && event.actor.startsWith("local:"),
    );
    expect(made).toHaveLength(1);
  }, 30_000);

  test("a command founds nothing where there is no instance, and leaves no trace", async () => {
    const home = privateHome();
    const folder = join(home, "data");
    const commands = [
      ["ca", "list"],
      ["crl", "publish", "--ca", "a"],
      ["audit", "verify"],
      ["migrate"],
    ];
    for (const args of commands) {
      const bare = await ran([binary, ...args], { cwd: home, env: { HOME: home } });
      expect([bare.code, bare.stdout]).toEqual([1, ""]);
      expect(bare.stderr).toContain(`There is no instance in ${join(home, "pkid-data")}.`);
    }
    expect((await ran([binary, "preflight"], { cwd: home, env: { HOME: home } })).code).toBe(2);
    expect(readdirSync(home)).toEqual([]);
    writeConfig(home, {});
    // As `init` leaves it, and as an unmounted volume would be.
    mkdirSync(folder, { mode: 0o700 });
    for (const args of commands) {
      const empty = await runCli(home, [...args, "--json"]);
      expect(empty.code).toBe(1);
      expect(JSON.parse(empty.stderr)).toMatchObject({ code: "no_instance", data_dir: folder });
    }
    expect(readdirSync(folder)).toEqual([]);
  }, 30_000);

  test("a lock held by something that answers no socket stops a command, which names it", async () => {
    const home = privateHome();
    writeConfig(home, {});
    const folder = join(home, "data");
    mkdirSync(folder, { mode: 0o700 });
    const lock = join(folder, "lock");
    const holder = Bun.spawn(["flock", "--no-fork", "-x", lock, "sleep", "60"], {
      stdout: "ignore",
    });
    try {
      while (Bun.spawnSync(["flock", "-n", "-x", lock, "true"]).exitCode === 0) await Bun.sleep(5);
      writeFileSync(lock, `${holder.pid}\n`);
      const refused = await runCli(home, ["ca", "list"]);
      expect([refused.code, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toContain(String(holder.pid));
      expect(refused.stderr).toContain(folder);
    } finally {
      holder.kill("SIGKILL");
    }
  }, 30_000);
});

describe("SIGHUP", () => {
  test("takes over profiles, limits and the serving certificate, and is an event", async () => {
    const instance = await start();
    const chain = await createChain(instance, "ecdsa-p256");
    const files = await servingPair(instance.home, "first");
    const profiles = [{ name: "kiosk", ext_key_usages: ["serverAuth"], max_validity_days: 3 }];
    const config = { profiles, log: { level: "debug" }, server: { ...files } };
    await reloaded(instance, config, "config_reloaded");
    expect(await shownSubject(instance)).toContain("first");
    const listed = await instance.admin<{ items: { name: string }[] }>("GET", "/api/profiles");
    expect(listed.items.map(({ name }) => name)).toContain("kiosk");
    const csr = await newCsr(instance.home, "kiosk.example.test");
    const issued = await instance.admin<{ certificate: string }>(
      "POST",
      `/api/ca/${chain.intermediateId}/issue`,
      { csr, profile: "kiosk" },
    );
    expect(issued.certificate).toContain("BEGIN CERTIFICATE");
    // The same files with new content are taken too.
    await servingPair(instance.home, "second", "first");
    await reloaded(instance, config, "config_reloaded", 2);
    expect(await shownSubject(instance)).toContain("second");
    const [event] = await events(instance, "config.reload");
    expect(event).toMatchObject({ result: "success", actor: "system:config" });
    expect(String(event?.detail)).toContain("log.level");
  }, 60_000);

  test("a configuration that is not valid changes nothing, and that is an event too", async () => {
    const instance = await start({ config: { profiles: [named("before")] } });
    const shown = await shownSubject(instance);
    const pair = await servingPair(instance.home, "right");
    const wrong = await servingPair(instance.home, "other");
    const bad: Record<string, unknown>[] = [
      { profiles: [named("after"), named("AFTER")] },
      { profiles: [{ ...named("after"), key_usages: ["everything"] }] },
      { profiles: [named("after")], server: { tls_cert: pair.tls_cert } },
      { profiles: [named("after")], server: { ...pair, tls_key: wrong.tls_key } },
    ];
    for (const [index, config] of bad.entries()) {
      await reloaded(instance, config, "config_reload_failed", index + 1);
      const { items } = await instance.admin<{ items: { name: string }[] }>("GET", "/api/profiles");
      const names = items.map(({ name }) => name);
      expect([names.includes("before"), names.includes("after")]).toEqual([true, false]);
      expect(await shownSubject(instance)).toBe(shown);
    }
    const failed = await events(instance, "config.reload");
    expect(failed.map(({ result }) => result)).toEqual(["error", "error", "error", "error"]);
    await reloaded(instance, { profiles: [named("after")] }, "config_reloaded");
  }, 60_000);
});

const named = (name: string) => ({
  name,
  key_usages: ["digitalSignature"],
  ext_key_usages: ["serverAuth"],
});

describe("a start with a bad configuration", () => {
  test("prints every error at once and creates nothing", async () => {
    const home = privateHome();
    const answer = await failedStart({
      home,
      config: {
        logg: { level: "info" },
        log: { level: "loud", format: "json" },
        crl: { base_validity_hours: 1 },
        database: { max_open_conns: "many" },
      },
    });
    expect([answer.code, answer.stdout]).toEqual([1, ""]);
    const lines = answer.stderr.trim().split("\n");
    expect(lines.every((line) => line.startsWith("config: "))).toBe(true);
    expect(lines.map((line) => line.split(": ")[1]).sort()).toEqual([
      "crl.base_validity_hours",
      "database.max_open_conns",
      "log.level",
      "logg",
    ]);
    expect(answer.stderr).toContain("log");
    expect(existsSync(join(home, "data"))).toBe(false);
  });

  test("cleartext on the main port needs the variable, and then speaks it", async () => {
    const bare = { server: { tls: { self_issue: { enabled: false } } } };
    const home = privateHome();
    const refused = await failedStart({ home, config: bare });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("PKID_ALLOW_INSECURE_HTTP");
    const env = { PKID_ALLOW_INSECURE_HTTP: "1" };
    const instance = await start({ config: bare, env });
    expect(instance.url).toStartWith("http://");
    const answer = await fetch(`${instance.url}/healthz`);
    expect(answer.status).toBe(200);
    expect(answer.headers.has("strict-transport-security")).toBe(false);
    // Who asks for TLS by name gets it, whatever the variable says (ENV-5).
    const tls = await start({
      config: { server: { tls: { self_issue: { enabled: true } } } },
      env,
    });
    expect(tls.url).toStartWith("https://");
  }, 30_000);

  test("the common name of the serving certificate is one of its names", async () => {
    const own = { common_name: "called.example", dnsnames: ["localhost"], ips: ["127.0.0.1"] };
    const instance = await start({ config: { server: { tls: { self_issue: own } } } });
    const chain = readFileSync(join(instance.dataDir, "serving.pem"), "utf8");
    const [leaf] = chain.split(/(?<=-----END CERTIFICATE-----\n)/);
    const certificate = new X509Certificate(leaf ?? "");
    expect(certificate.subject).toBe("CN=called.example");
    expect(certificate.subjectAltName).toContain("DNS:called.example");
  }, 30_000);

  test("a data directory that others may read is refused", async () => {
    const home = privateHome();
    mkdirSync(join(home, "data"), { mode: 0o755 });
    const refused = await failedStart({ home });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("755");
  });
});

test("a restart finds everything as it was left", async () => {
  const first = await start();
  const chain = await createChain(first, "ecdsa-p256");
  const before = await command(first, ["ca", "list"]);
  const url = `/api/ca/${chain.intermediateId}/crl/status`;
  // The lists are there before: one that was still to be signed would be signed after the start.
  const lists = `/api/ca/${chain.intermediateId}/crl`;
  for (const path of [lists, `${lists}/delta`]) expect((await first.fetch(path)).status).toBe(200);
  const crl = await first.admin<object>("GET", url);
  expect(await first.stop()).toBe(0);
  const second = await start({ home: first.home });
  expect(await command(second, ["ca", "list"])).toEqual(before);
  expect(await second.admin<object>("GET", url)).toEqual(crl);
  expect((await second.cli("audit", "verify")).code).toBe(0);
}, 30_000);

/** A connection over TLS on which a request can be left unfinished. */
class HalfSent {
  #received = "";

  private constructor(
    private readonly socket: ReturnType<typeof connect>,
    private readonly rest: string,
  ) {
    socket.on("data", (chunk) => {
      this.#received += String(chunk);
    });
    socket.on("error", () => {}); // A closed connection shows in what was received.
  }

  static open(instance: Instance, rest = ""): Promise<HalfSent> {
    const { port } = new URL(instance.url);
    const options = { host: "127.0.0.1", port: Number(port), ca: instance.servingCa() };
    return new Promise((opened) => {
      const socket = connect({ ...options, servername: "localhost" }, () =>
        opened(new HalfSent(socket, rest)),
      );
    });
  }

  /** Sends everything but the last octet of the body. */
  static async post(instance: Instance, path: string, token: string, body: string) {
    const half = await HalfSent.open(instance, body.slice(-1));
    const before = (await instance.metrics()).match(inFlight)?.[1];
    half.socket.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Token ${token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`,
    );
    // The request is under way when the gauge has counted it beside the scrape itself.
    for (;;) {
      const now = (await instance.metrics()).match(inFlight)?.[1];
      if (Number(now) > Number(before)) return half;
      await Bun.sleep(10);
    }
  }

  ask(request: string): Promise<string> {
    this.socket.write(request);
    return this.#answer();
  }

  finish(): Promise<string> {
    return this.ask(this.rest);
  }

  async #answer(): Promise<string> {
    while (!/\r\n\r\n[\s\S]/.test(this.#received) && !this.socket.closed) await Bun.sleep(5);
    return this.#received;
  }
}

const inFlight = /^pki_http_requests_in_flight (\d+)/m;

async function reloaded(
  instance: Instance,
  config: Readonly<Record<string, unknown>>,
  outcome: string,
  times = 1,
): Promise<void> {
  writeConfig(instance.home, config);
  const count = () => instance.logs.filter((line) => line.includes(`"msg":"${outcome}"`)).length;
  instance.signal("SIGHUP");
  while (count() < times) await Bun.sleep(10);
}

async function servingPair(folder: string, name: string, file = name) {
  const tls_cert = join(folder, `${file}.crt`);
  const tls_key = join(folder, `${file}.key`);
  await openssl([
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-keyout",
    tls_key,
    "-out",
    tls_cert,
    "-days",
    "2",
    "-subj",
    `/CN=${name}`,
  ]);
  return { tls_cert, tls_key };
}

async function shownSubject(instance: Instance): Promise<string> {
  const { host } = new URL(instance.url);
  const { text } = await openssl(["s_client", "-connect", host], { mustPass: false });
  return /^subject=(.*)$/m.exec(text)?.[1] ?? "";
}

async function events(instance: Instance, action: string) {
  const { items } = await instance.admin<{ items: Record<string, unknown>[] }>(
    "GET",
    `/api/events?action=${action}`,
  );
  return items;
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
