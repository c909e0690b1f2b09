/**
 * Tries the addresses a server will listen on, before anything is founded that could not be
 * reached.
 */

import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

import type { Config } from "#config/schema.ts";

import { Failure } from "./failure.ts";

/**
 * Fails for a listener of a new instance whose address cannot be had, with the key that sets it. An
 * instance that has been held by a process before is not looked at: its own server may be running,
 * which the lock tells better. Neither is a process that was handed sockets (sd_listen_fds(3)):
 * they are taken, for it.
 */
export async function portsMustBeFree(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  if (existsSync(join(config.data_dir, "lock"))) return;
  if (env.LISTEN_PID === String(process.pid)) return;
  const { host, port, public_http } = config.server;
  await mustBeFree(host, port, "server.port");
  if (!public_http.enabled) return;
  const parts = /^\[?(.*?)\]?:(\d+)$/.exec(public_http.address);
  const [, publicHost = "", publicPort = "0"] = parts ?? [];
  await mustBeFree(publicHost, Number(publicPort), "server.public_http.address");
}

async function mustBeFree(host: string, port: number, key: string): Promise<void> {
  if (port === 0) return;
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const server = createServer();
  server.once("error", (error) => resolve("code" in error ? String(error.code) : error.message));
  server.listen({ host: host === "" ? "0.0.0.0" : host, port, exclusive: true }, () =>
    resolve(undefined),
  );
  const code = await promise;
  if (code === undefined) {
    await new Promise((closed) => server.close(closed));
    return;
  }
  const why = causes.get(code) ?? `it cannot be had (${code})`;
  const sentence = `Nothing was made: pkid would listen on ${host}:${port}, and ${why}. Set ${key}.`;
  throw new Failure(sentence, "port_unavailable", { address: `${host}:${port}`, key });
}

const causes: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "somebody else listens there"],
  ["EACCES", "this user may not"],
  ["EADDRNOTAVAIL", "this machine has no such address"],
]);
