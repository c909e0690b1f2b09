/** More connections than the process may have open files do not end the server. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { readdirSync } from "node:fs";

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

const openFiles = (): number => readdirSync(`/proc/${instance.pid}/fd`).length;

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
  const wrong = instance.logs.filter((line) => /"(crash|request_failed|job_failed)"/.test(line));
  expect(wrong).toEqual([]);
  expect(await instance.stop()).toBe(0);
}, 120_000);
