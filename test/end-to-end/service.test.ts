/** The binary under a service manager: it says how it fares, and serves when nobody listens. */

import { afterAll, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { unitFile } from "#cli/service-unit.ts";
import { binary, Instance, newHome, writeConfig } from "#test/support/instances/instance.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { heldSocket } from "#test/support/servers/held-sockets.ts";
import { Datagrams } from "#test/support/servers/datagrams.ts";

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

async function started(env: Readonly<Record<string, string>>): Promise<Instance> {
  const instance = await Instance.start({ env });
  closing.push(() => instance.dispose());
  return instance;
}

test("a server tells when it is ready, alive, reloads and stops", async () => {
  const address = join(newHome(), "notify");
  const supervisor = await Datagrams.at(address);
  closing.push(() => supervisor.close());
  const instance = await started({ NOTIFY_SOCKET: address, WATCHDOG_USEC: "20000" });
  await supervisor.heard(`READY=1\nSTATUS=Serving ${instance.url}`);
  await supervisor.heard("WATCHDOG=1");
  instance.signal("SIGHUP");
  await instance.logged("config_reloaded");
  await supervisor.heard("RELOADING=1");
  supervisor.messages.length = 0;
  instance.signal("SIGHUP");
  await supervisor.heard("READY=1");
  expect(await instance.stop()).toBe(0);
  await supervisor.heard("STOPPING=1");
  const told = supervisor.messages.filter((one) => one !== "WATCHDOG=1");
  expect(told.at(-1)).toBe("STOPPING=1\nSTATUS=Stopping");
}, 60_000);

test("a watchdog of another process is not this one's", async () => {
  const address = `@pkid-test-${crypto.randomUUID()}`;
  const supervisor = await Datagrams.at(address);
  closing.push(() => supervisor.close());
  const env = { NOTIFY_SOCKET: address, WATCHDOG_USEC: "2000", WATCHDOG_PID: "1" };
  const instance = await started(env);
  await supervisor.heard("READY=1");
  expect(await instance.stop()).toBe(0);
  await supervisor.heard("STOPPING=1");
  expect(supervisor.messages).not.toContain("WATCHDOG=1");
}, 60_000);

test("systemd's own activator hands over what the server then serves", async () => {
  const home = newHome();
  closing.push(() => rmSync(home, { recursive: true, force: true }));
  const port = await freePort();
  const config = writeConfig(home, { server: { port } });
  const listening = ["-l", `127.0.0.1:${port}`, "--fdname=main"];
  const line = ["systemd-socket-activate", ...listening, binary, "serve", "--config", config];
  const child = Bun.spawn(line, { cwd: home, stdout: "ignore", stderr: "ignore" });
  const ask = () =>
    fetch(`https://127.0.0.1:${port}/readyz`, { tls: { rejectUnauthorized: false } });
  let answer = await ask().catch(() => undefined);
  // It is listening as soon as it runs; the server is started by who comes first, and answers.
  while (answer === undefined) answer = await ask().catch(() => undefined);
  expect(answer.status).toBe(200);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
}, 60_000);

test("a server serves on when its service manager does not listen, and says so", async () => {
  const instance = await started({ NOTIFY_SOCKET: "/nonexistent/notify", WATCHDOG_USEC: "20000" });
  await instance.logged("supervisor_not_told");
  expect((await instance.fetch("/readyz")).status).toBe(200);
  expect(await instance.stop()).toBe(0);
}, 60_000);

test("a server does its work under the unit's filter of system calls and sockets", async () => {
  const home = newHome();
  const own = { writable: [], made: [], devices: [], sockets: [] };
  const needs = { binary, stopSeconds: 30, lowPort: false, ...own };
  writeFileSync(join(home, "pkid.service"), unitFile(needs));
  const filter = join(import.meta.dir, "../support/servers/system-call-filter.py");
  const line = `exec /usr/bin/python3 ${filter} ${join(home, "pkid.service")} ${binary} "$@"`;
  writeFileSync(join(home, "filtered"), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  const main = heldSocket();
  closing.push(main.close);
  const instance = await Instance.start({
    binary: join(home, "filtered"),
    config: { server: { port: main.port } },
    sockets: { main },
  });
  closing.push(() => instance.dispose());
  expect((await instance.fetch("/readyz")).status).toBe(200);
  const status = readFileSync(`/proc/${instance.pid}/status`, "utf8");
  expect(status).toMatch(/^Seccomp:\s+2$/m);
  const made = await instance.cli("ca", "init-root", "--label", "root", "--cn", "Filtered Root");
  expect(made).toMatchObject({ code: 0 });
  instance.signal("SIGHUP");
  await instance.logged("config_reloaded");
  expect(await instance.stop()).toBe(0);
}, 60_000);
