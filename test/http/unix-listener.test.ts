/**
 * The Unix socket beside the main listener: who may connect, who one is there, and that its clients
 * are no slower to go.
 */

import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:net";
import { afterAll, describe, expect, test } from "bun:test";

import { groupIdOf } from "#config/os-group.ts";
import type { Call } from "#domain/access/call.ts";
import { Outcome } from "#domain/access/outcome.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";
import { rawExchange } from "#test/support/tls/raw-http.ts";
import { startStub, type StubServer } from "#test/support/worlds/stub-server.ts";
import { heard } from "#test/support/tls/tls-client.ts";

const folder = scratchDirectory();
const running: StubServer[] = [];
afterAll(async () => {
  await Promise.all(running.map((server) => server.stop()));
  folder[Symbol.dispose]();
});

let count = 0;
const start = async (
  wanted: { readonly mode?: number; readonly groupId?: number; readonly path?: string } = {},
  options: Parameters<typeof startStub>[0] = {},
  deps: Parameters<typeof startStub>[1] = {},
) => {
  count += 1;
  const { mode = 0o600, groupId, path = join(folder.path, `s${count}`) } = wanted;
  const unixSocket = { path, mode, groupId };
  const server = await startStub({ unixSocket, privateDirectory: folder.path, ...options }, deps);
  running.push(server);
  return { server, path };
};
const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const good = "Authorization: Token pki_pat_good\r\n";

describe("the socket", () => {
  test("serves the routes of the main listener, those of the admin socket to nobody", async () => {
    const { path } = await start();
    expect(await rawExchange(path, get("/healthz"))).toStartWith("HTTP/1.1 200");
    expect(await rawExchange(path, get("/api/me", good))).toContain('"subject":"token:1","ip":""');
    const local = "POST /api/backup:run HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
    expect(await rawExchange(path, local)).toStartWith("HTTP/1.1 404");
  });

  test("proves nothing: whoever shows no credential is nobody, whatever address is claimed", async () => {
    const { path } = await start({}, {}, { trusted_proxies: ["0.0.0.0/0", "::/0"] });
    const claim = "X-Forwarded-For: 127.0.0.1\r\n";
    expect(await rawExchange(path, get("/api/me", claim))).toStartWith("HTTP/1.1 401");
    expect(await rawExchange(path, get("/api/me", claim + good))).toContain('"ip":""');
  });

  test("has the permissions and the group that are configured", async () => {
    const { path } = await start();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const groupId = process.getuid?.() === 0 ? 65_534 : (process.getgid?.() ?? 0);
    const { path: shared } = await start({ mode: 0o660, groupId });
    expect([statSync(shared).mode & 0o777, statSync(shared).gid]).toEqual([0o660, groupId]);
  });

  test("takes the place of one nobody answers on, and of nothing else", async () => {
    const { server, path } = await start();
    await expect(start({ path })).rejects.toThrow("another server answers on the unix socket");
    await server.stop();
    expect(existsSync(path)).toBe(false);
    const crashed = Bun.spawnSync([
      process.execPath,
      "-e",
      `Bun.serve({unix:${JSON.stringify(path)},fetch(){}});process.kill(process.pid,"SIGKILL")`,
    ]);
    expect([crashed.success, existsSync(path)]).toEqual([false, true]);
    await start({ path });
    const file = join(folder.path, "file");
    writeFileSync(file, "");
    await expect(start({ path: file })).rejects.toThrow("another file");
  });
});

describe("a connection", () => {
  test("whose body trickles, whose answer is late, or that asks nothing is closed", async () => {
    const patience = {
      idle_timeout_seconds: 2,
      body_timeout_seconds: 2,
      request_timeout_seconds: 2,
    };
    const perform = async ({ operation, given }: Call) => {
      if (operation.name === "token.create") await given.read();
      return new Promise<never>(() => {});
    };
    const { path } = await start({}, patience, { perform });
    const post = `POST /api/tokens HTTP/1.1\r\nHost: x\r\n${good}Content-Length: 100\r\n\r\n{`;
    const trickling = connect(path, () => trickling.write(post));
    const drip = setInterval(() => trickling.write(" "), 100);
    const late = connect(path, () => late.write(get("/api/profiles", good)));
    const silent = connect(path);
    const said = await Promise.all([trickling, late, silent].map((socket) => heard(socket)));
    clearInterval(drip);
    expect(said).toEqual(["", "", ""]);
  }, 30_000);

  test("gets the answer that was under way when the server stops", async () => {
    let release = () => {};
    const waiting = new Promise<void>((resolve) => {
      release = resolve;
    });
    const perform = async () => {
      await waiting;
      return new Outcome("done", { done: true });
    };
    const { server, path } = await start({}, {}, { perform });
    const answer = rawExchange(path, get("/api/profiles", good));
    while (server.front.traffic.active === 0) await Bun.sleep(1);
    const closed = server.listeners.close(10_000);
    release();
    expect(await answer).toContain('{"done":true}');
    await closed;
  });
});

test("a group is known by its name, and one that nobody has is not", () => {
  expect(groupIdOf("root")).toBe(0);
  for (const name of ["no-such-group-here", "", "-x", "root:x", "0"]) {
    expect([name, groupIdOf(name)]).toEqual([name, undefined]);
  }
});
