/**
 * The compiled binary in a hostile surrounding: options of its runtime, files in the directory, no
 * environment at all.
 */

import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { binary } from "#test/support/instances/instance.ts";
import { eachLine, ran } from "#test/support/child.ts";
import { selectByRun } from "#test/support/run-length.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-binary-"));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const trace = join(folder, "loaded");
const spy = join(folder, "spy.js");
writeFileSync(spy, `require("node:fs").writeFileSync(${JSON.stringify(trace)}, "x");`);

const pkid = (
  args: readonly string[],
  options: { env?: Record<string, string>; cwd?: string } = {},
) => ran([binary, ...args], { env: {}, cwd: folder, ...options });

describe("the environment and the directory add no code and no settings", () => {
  test.each([
    ["BUN_OPTIONS", `--preload=${spy}`],
    ["BUN_OPTIONS", `--import=${spy}`],
    ["BUN_OPTIONS", `-r ${spy}`],
    ["BUN_OPTIONS", `--config=${join(folder, "preload.toml")}`],
    ["BUN_INSPECT", "127.0.0.1:0"],
    ["BUN_INSPECT_PRELOAD", spy],
  ])("%s=%s is refused", async (name, value) => {
    writeFileSync(join(folder, "preload.toml"), `preload = [${JSON.stringify(spy)}]\n`);
    const { code, stdout } = await pkid(["--version"], { env: { [name]: value } });
    expect([code, stdout, existsSync(trace)]).toEqual([1, "", false]);
  });

  test.each([
    ["NODE_OPTIONS", `--require ${spy}`],
    ["BUN_OPTIONS", "--eval=process.exit(7)"],
    ["BUN_CONFIG_PRELOAD", spy],
    ["NODE_PATH", folder],
  ])("%s=%s does nothing", async (name, value) => {
    const { code, stdout } = await pkid(["--version"], { env: { [name]: value } });
    expect([code, existsSync(trace)]).toEqual([0, false]);
    expect(stdout).toStartWith("pkid ");
  });

  test(".env, bunfig.toml, package.json and tsconfig.json in the directory are not read", async () => {
    const here = mkdtempSync(join(folder, "here-"));
    writeFileSync(join(here, ".env"), "PKID_DATA_DIR=/from/dotenv\nPKID_SERVER_PORT=1\n");
    writeFileSync(join(here, ".env.production"), "PKID_DATA_DIR=/from/dotenv\n");
    writeFileSync(join(here, "bunfig.toml"), `preload = [${JSON.stringify(spy)}]\n`);
    writeFileSync(join(here, "package.json"), '{"imports":{"#app":"./spy.js"},');
    writeFileSync(join(here, "tsconfig.json"), "{");
    const { code, stdout } = await pkid(["config", "show"], { cwd: here });
    expect([code, existsSync(trace)]).toEqual([0, false]);
    expect(stdout).toStartWith(`data_dir: ${here}/pkid-data`);
    expect(stdout).toContain("port: 8443 # default");
  });
});

test.if(process.getuid?.() === 0)(
  "it runs as nobody, from /, with an empty environment",
  async () => {
    const home = mkdtempSync(join(folder, "nobody-"));
    const copy = join(folder, "pkid");
    copyFileSync(binary, copy);
    chmodSync(copy, 0o755);
    chownSync(home, nobody, nobody);
    const config = join(home, "pkid.yaml");
    const server = { host: "127.0.0.1", port: 0 };
    writeFileSync(config, JSON.stringify({ data_dir: join(home, "data"), server }));
    // Whatever umask an earlier test of this process left.
    chmodSync(config, 0o644);
    const as = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups", "env", "-i"];
    const run = (...args: string[]) =>
      ran([...as, copy, ...args, "--config", config], { cwd: "/" });
    const served = Bun.spawn([...as, copy, "serve", "--config", config], {
      cwd: "/",
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
    let ready = false;
    await eachLine(served.stderr, (line) => {
      if (!line.includes('"msg":"ready"')) return;
      ready = true;
      served.kill("SIGTERM");
    });
    expect([ready, await served.exited]).toEqual([true, 0]);
    const made = await run("ca", "init-root", "--label", "r", "--cn", "R", "--json");
    expect([made.stderr.includes("error"), made.code]).toEqual([false, 0]);
    const events = await run("audit", "list", "--json");
    expect(events.stdout).toContain('"actor":"local:nobody"');
  },
  60_000,
);

/** Each start is a process, so the short run takes the first command of each group only. */
describe("every command", () => {
  test("explains itself and exits 0; an unknown flag is exit 2 with nothing on stdout", async () => {
    const help = readFileSync(join(dirname(import.meta.dir), "golden/cli-help.txt"), "utf8");
    const usages = [...help.matchAll(/^Usage: pkid ([a-z-]+(?: [a-z-]+)?)(?= |$)/gm)];
    const commands = usages.map(([, words = ""]) => words.split(" "));
    expect(commands.length).toBeGreaterThan(30);
    const groups = [
      ...new Map(commands.toReversed().map((command) => [command[0], command])).values(),
    ];
    const started = selectByRun(groups, commands);
    expect(started.length).toBeGreaterThan(20);
    // A few at a time: each start is a process of its own.
    for (let at = 0; at < started.length; at += 4) {
      await Promise.all(started.slice(at, at + 4).map(explains));
    }
    const none = await pkid(["nonsense"]);
    expect([none.code, none.stdout]).toEqual([2, ""]);
    expect((await pkid([])).code).toBe(2);
  }, 240_000);

  async function explains(words: string[]): Promise<void> {
    const help = await pkid([...words, "--help"]);
    expect([words, help.code, help.stderr]).toEqual([words, 0, ""]);
    expect(help.stdout).toContain("Usage: pkid");
    const unknown = await pkid([...words, "--no-such-flag"]);
    expect([words, unknown.code, unknown.stdout]).toEqual([words, 2, ""]);
    expect(unknown.stderr).toMatch(/--no-such-flag|Usage: pkid/);
  }
});

const nobody = 65_534;
