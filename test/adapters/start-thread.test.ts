/** Threads are started only while the process has descriptors and tasks for them. */

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { requireTasks } from "#adapters/start-thread.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";

/** Runs a script with 64 open files at most, which `fill` leaves all in use but a number. */
async function runScript(script: string): Promise<string> {
  const module = new URL("../../src/adapters/start-thread.ts", import.meta.url).href;
  const head = `
    const { startThread } = await import(${JSON.stringify(module)});
    const { closeSync, openSync } = await import("node:fs");
    const fill = (free) => {
      const files = [];
      try { for (;;) files.push(openSync("/dev/null", "r")); } catch {}
      for (const file of files.splice(0, free)) closeSync(file);
      return files;
    };
    const attempt = () => {
      try { startThread("data:text/javascript,", {}).unref(); return "started"; }
      catch (error) { return error.code; }
    };`;
  const line = ["sh", "-c", `ulimit -n 64; exec "$@"`, "limited", process.execPath, "-e"];
  const child = Bun.spawn([...line, `${head}${script}`], { cwd: `${import.meta.dir}/../..` });
  const text = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return text.trim();
}

test("a process without descriptors refuses to start a thread, and continues", async () => {
  const script = `
    fill(0); const none = attempt();
    fill(7); const few = attempt();
    console.log(none, few);
    process.exit(0);`;
  expect(await runScript(script)).toBe("EMFILE EMFILE");
});

test("the check for descriptors leaves every descriptor free", async () => {
  const script = `
    fill(7); attempt(); attempt();
    console.log(fill(0).length);
    process.exit(0);`;
  expect(await runScript(script)).toBe("7");
});

test("a control group that allows fewer tasks refuses a thread, also as a parent", () => {
  for (const [line, folder, parent] of [
    ["0::/system/pkid", "sys/fs/cgroup", ""],
    ["4:cpu,pids:/system/pkid", "sys/fs/cgroup/pids", ""],
    ["0::/system/pkid", "sys/fs/cgroup/system", "parent"],
  ] as const) {
    using scratch = scratchDirectory();
    const write = (path: string, text: string) => {
      mkdirSync(join(scratch.path, path, ".."), { recursive: true });
      writeFileSync(join(scratch.path, path), text);
    };
    const group = parent === "" ? join(folder, "system/pkid") : folder;
    write("proc/self/cgroup", `${line}\n`);
    write(join(group, "pids.max"), "100\n");
    write(join(group, "pids.current"), "93\n");
    expect(() => requireTasks(7, scratch.path)).not.toThrow();
    expect(() => requireTasks(8, scratch.path)).toThrow("100 tasks are allowed");
    write(join(group, "pids.max"), "max\n");
    expect(() => requireTasks(1000, scratch.path)).not.toThrow();
  }
});
