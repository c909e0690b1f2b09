/** What the host and the database tell whoever helps; everything is looked at, nothing changed. */

import { readdirSync, readFileSync } from "node:fs";
import { arch, cpus, freemem, loadavg, release, totalmem, type as system, uptime } from "node:os";
import { dirname, join } from "node:path";

import { holderOf } from "#adapters/data-directory.ts";
import { storeAddress } from "#adapters/db/address.ts";
import { newestEventsOf, survey } from "#adapters/db/engine/survey.ts";
import { fileFacts, volumeFacts } from "#adapters/preflight/host.ts";
import { useProxy } from "#app/proxy.ts";
import { openSecrets } from "#app/secrets.ts";
import type { Config } from "#config/schema.ts";

/** Sizes, rows and states of the database of this configuration. */
export const databaseFacts = async (config: Config) => survey(await addressOf(config));

/** Its newest events, newest first, with everything that stands in them. */
export const newestEvents = async (config: Config, max: number) =>
  newestEventsOf(await addressOf(config), max);

async function addressOf(config: Config) {
  const secrets = openSecrets(config);
  await useProxy(config, secrets);
  return await storeAddress(config, secrets);
}

/** The machine: system, processors, memory, load. */
export const hostFacts = () => ({
  system: system(),
  release: release(),
  arch: arch(),
  processors: cpus().length,
  processor: cpus()[0]?.model ?? "",
  memory_bytes: totalmem(),
  memory_free_bytes: freemem(),
  load: loadavg(),
  uptime_seconds: Math.trunc(uptime()),
  pressure: textsOf("/proc/pressure", ["cpu", "io", "memory"]),
  cgroup: textsOf("/sys/fs/cgroup", ["memory.max", "memory.current", "cpu.max", "pids.max"]),
});

/**
 * The process that holds the data directory, else this one: limits, threads, memory. Neither its
 * environment nor its command line, which may hold secrets.
 */
export function processFacts({ data_dir }: Pick<Config, "data_dir">) {
  const holder = holderOf(data_dir);
  const pid = holder !== undefined && nameOf(holder) !== undefined ? holder : process.pid;
  const folder = `/proc/${pid}`;
  return {
    pid,
    is_server: pid === holder,
    name: nameOf(pid),
    status: lines(join(folder, "status")).filter((line) => wanted.test(line)),
    limits: lines(join(folder, "limits")),
    open_files: countIn(join(folder, "fd")),
    threads: countIn(join(folder, "task")),
  };
}

/** Volumes with their room, and the files of the data directory by size; never what is in them. */
export function diskFacts({ data_dir, access_log, key_provider }: Config) {
  const places = [
    data_dir,
    key_provider.software.keystore_dir,
    dirname(access_log.path ?? data_dir),
  ];
  const files = readdirSync(data_dir, { recursive: true, encoding: "utf8" }).sort();
  return {
    volumes: [...new Set(places)].flatMap((path) => part(() => [volumeFacts(path, "data")]) ?? []),
    files: files.slice(0, filesMax).flatMap(
      (name) =>
        part(() => {
          const { kind, mode, owner } = fileFacts(join(data_dir, name));
          const { size } = Bun.file(join(data_dir, name));
          const bytes = kind === "file" ? size : undefined;
          return [{ name, kind, mode: mode.toString(8), owner, bytes }];
        }) ?? [],
    ),
    more_files: Math.max(0, files.length - filesMax),
  };
}

const nameOf = (pid: number): string | undefined =>
  part(() => readFileSync(`/proc/${pid}/comm`, "utf8").trim());

const lines = (path: string): readonly string[] =>
  part(() => readFileSync(path, "utf8").trimEnd().split("\n")) ?? [];

const countIn = (folder: string): number | undefined => part(() => readdirSync(folder).length);

const textsOf = (folder: string, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, lines(join(folder, name)).join("; ")]));

/** Undefined for what this system does not tell, or not to this user. */
function part<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined; // Other systems have no /proc, and another user's process is shut.
  }
}

const wanted =
  /^(State|Threads|Vm(Peak|Size|HWM|RSS|Swap)|RssAnon|FDSize|voluntary_ctxt|nonvoluntary_ctxt|Seccomp|NoNewPrivs)/;
const filesMax = 2_000;
