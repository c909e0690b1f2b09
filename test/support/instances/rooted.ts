/** The binary in a root directory of its own, with what a container runtime adds and no more. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { eachLine, type Ran, ran } from "#test/support/child.ts";

/** Where something runs, and as whom. */
export interface Place {
  readonly root: string;
  /** Numbers, `uid:gid`. */
  readonly user: string;
  /** All of it. */
  readonly env: Readonly<Record<string, string>>;
}

/** Roots are changed by root alone, and only where it may mount. */
export const rootsPermitted: boolean =
  process.getuid?.() === 0 && Bun.spawnSync(["unshare", "--mount", "true"]).success;

/** Runs a command below a root to its end, and gives what it said. */
export const ranBelow = (place: Place, line: readonly string[]): Promise<Ran> =>
  ran(lineBelow(place, line), { cwd: place.root, env: { ...place.env, PATH } });

/** A server below a root that says in its log, in JSON, when it is ready. */
export class RootedServer {
  private constructor(
    private readonly child: Bun.Subprocess<"ignore", "ignore", "pipe">,
    /** What it said when it was ready. */
    readonly ready: Readonly<Record<string, string>>,
    readonly port: number,
  ) {}

  /** Starts and waits until it is ready; throws with the log when the process ends first. */
  static async start(place: Place, line: readonly string[]): Promise<RootedServer> {
    const child = Bun.spawn([...lineBelow(place, line)], {
      cwd: place.root,
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...place.env, PATH },
    });
    const log: string[] = [];
    const { promise, resolve } = Promise.withResolvers<Readonly<Record<string, string>>>();
    void eachLine(child.stderr, (entry) => {
      log.push(entry);
      if (entry.includes('"msg":"ready"')) resolve(JSON.parse(entry));
    });
    const ready = await Promise.race([promise, child.exited]);
    if (typeof ready === "number") throw new Error(`it ended with ${ready}:\n${log.join("\n")}`);
    return new RootedServer(child, ready, Number(new URL(ready.url ?? "").port));
  }

  get pid(): number {
    return this.child.pid;
  }

  /** Asks over loopback what it answers to `path`; whose certificate it shows is not the matter. */
  async status(path: string): Promise<number> {
    const url = `https://127.0.0.1:${this.port}${path}`;
    return (await fetch(url, { tls: { rejectUnauthorized: false } })).status;
  }

  /** Asks to stop and waits; gives the exit code. */
  async stop(): Promise<number> {
    this.child.kill("SIGTERM");
    return this.child.exited;
  }
}

/** The mounts are those of this one process, and gone with it. */
function lineBelow({ root, user }: Place, line: readonly string[]): readonly string[] {
  for (const name of ["proc", "dev"]) mkdirSync(join(root, name), { recursive: true });
  const script = `root=$0 user=$1
    shift
    mount --rbind /proc "$root/proc"
    mount --rbind /dev "$root/dev"
    exec chroot --userspec="$user" "$root" "$@"`;
  return ["unshare", "--mount", "sh", "-ec", script, root, user].concat(line);
}

/** Where this machine has `chroot`; the binary is named by its whole path. */
const PATH = `${process.env.PATH}:/usr/sbin:/sbin`;
