/** More connections than the process may have open files do not end the server. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import { connect, type Socket } from "node:net";
import { readdirSync, readFileSync } from "node:fs";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { until } from "#test/support/until.ts";

let instance: Instance;
beforeAll(async () => {
  instance = await Instance.start({
    openFilesMax: 1024,
    config: { server: { public_http: { enabled: true, address: "127.0.0.1:0" } } },
  });
}, 60_000);
afterAll(() => instance.dispose());

/** Opens plain connections at the same time and keeps them; the server may reset them. */
async function flood(address: string, count: number): Promise<readonly Socket[]> {
  const { hostname, port } = new URL(address);
  const sockets = Array.from({ length: count }, () => connect(Number(port), hostname));
  const opened = sockets.map(
    (socket) =>
      new Promise<void>((resolve) => {
        socket.on("error", () => {});
        socket.once("connect", resolve);
        socket.once("close", () => resolve());
      }),
  );
  await Promise.all(opened);
  return sockets;
}

/** Sets the number of files that the running server may open; returns the number of before. */
function limitOpenFiles(count: number): number {
  const limits = readFileSync(`/proc/${instance.pid}/limits`, "utf8");
  const line = ["prlimit", "--pid", String(instance.pid), `--nofile=${count}:1024`];
  expect(Bun.spawnSync(line).exitCode).toBe(0);
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1]);
}

/** Sends requests over one connection, which needs no new descriptor. */
class OneConnection {
  readonly #agent = new https.Agent({ keepAlive: true, maxSockets: 1, ca: instance.servingCa() });

  async post(path: string, token: string, body: object): Promise<IncomingMessage> {
    const headers = { authorization: `Token ${token}`, "content-type": "application/json" };
    const url = new URL(path, instance.url);
    const request = https.request(url, { agent: this.#agent, method: "POST", headers });
    request.end(JSON.stringify(body));
    const [response] = (await once(request, "response")) as [IncomingMessage]; // By the event.
    response.resume();
    await once(response, "end");
    return response;
  }

  close(): void {
    this.#agent.destroy();
  }
}

const openFiles = (): number => readdirSync(`/proc/${instance.pid}/fd`).length;

test("the server refuses a request that needs a thread while it lacks descriptors, and continues", async () => {
  const chain = await createChain(instance, "ecdsa-p256");
  const certificate = await Bun.file(chain.intermediate).text();
  const token = await instance.token(["admin"], { scope: "platform" });
  const connection = new OneConnection();
  const validate = () => connection.post("/api/validate", token, { ca: chain.rootId, certificate });
  // The connection is opened, and the first request loads modules.
  const unread = await connection.post("/api/validate", token, {});
  expect(unread.statusCode).toBe(400);
  const before = limitOpenFiles(3);
  try {
    const refused = await validate();
    expect([refused.statusCode, refused.headers["retry-after"]]).toEqual([503, "5"]);
    expect(instance.running).toBe(true);
  } finally {
    limitOpenFiles(before);
  }
  expect((await validate()).statusCode).toBe(200);
  connection.close();
});

test("the queues of both listeners, accepted in one tick of the event loop, leave the reserve", async () => {
  // The descriptors of the thread before may be closed only now.
  const held = await flood(instance.url, 755 - openFiles());
  await until(() => openFiles() >= 730);
  process.kill(instance.pid, "SIGSTOP");
  const queued = Promise.all([flood(instance.url, 120), flood(instance.publicUrl, 120)]);
  const sockets = [...held, ...(await queued).flat()];
  process.kill(instance.pid, "SIGCONT");
  await until(() => openFiles() >= 768);
  // This response comes after the tick that accepted the queues.
  await instance.admin("GET", "/healthz");
  expect(openFiles()).toBeLessThan(1024 - 64);
  for (const socket of sockets) socket.destroy();
  await until(() => openFiles() < 500);
}, 60_000);

test("1,500 plain connections on each listener leave a reserve for files, keys and jobs", async () => {
  const flooded = [
    ...(await flood(instance.url, 1500)),
    ...(await flood(instance.publicUrl, 1500)),
  ];
  expect(instance.running).toBe(true);
  expect(openFiles()).toBeLessThan(1024 - 64);
  await instance.logged("connections_shed");
  // The admin socket, the database and the keys still work.
  const { id } = await instance.admin<{ id: string }>("POST", "/api/ca/init-root", {
    label: "short-root",
    subject: { cn: "Short Root" },
    key_type: "ecdsa-p256",
  });
  expect(id).not.toBe("");
  for (const socket of flooded) socket.destroy();
  await until(async () => {
    const response = await instance.fetch("/healthz").catch(() => undefined);
    return response?.status === 200;
  });
  const response = await fetch(new URL(`/api/ca/${id}/crl`, instance.publicUrl));
  expect(response.status).toBe(200);
  const errors = instance.logs.filter((line) => /"(crash|job_failed)"/.test(line));
  expect(errors).toEqual([]);
  expect(await instance.stop()).toBe(0);
}, 120_000);
