/**
 * README does what it says: its lines of the shell run in their printed order, its configurations
 * load, its commands exist.
 */

import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { nouns } from "#cli/commands.ts";
import type { Noun } from "#cli/command.ts";
import { flagsOf, globalArgs } from "#cli/args.ts";
import { loadConfig } from "#config/load.ts";
import { checkNames, preflightChecks } from "#core/preflight/checks.ts";
import { ran } from "#test/support/child.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { binary, newHome } from "#test/support/instances/instance.ts";
import { softHsmModule } from "#test/support/keys/softhsm.ts";

const root = resolve(import.meta.dir, "../..");
const manual = readFileSync(join(root, "README.md"), "utf8");

interface Fence {
  readonly language: string;
  readonly text: string;
}
const fences: readonly Fence[] = [...manual.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(
  ([, language = "", text = ""]) => ({ language, text }),
);

const home = newHome();
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** What needs another person, or a place of its own, has a test of its own. */
const hasOwnTest = ({ text }: Fence) => text.includes("$ID");

test("every line of the shell runs, in its printed order, on a fresh server", async () => {
  const port = await freePort();
  mkdirSync(join(home, "bin"));
  await Bun.write(join(home, "bin", "pkid"), `#!/bin/sh\nexec ${binary} "$@"\n`);
  await Bun.spawn(["chmod", "755", join(home, "bin", "pkid")]).exited;
  mkdirSync(join(home, "tokens"));
  const conf = `directories.tokendir = ${join(home, "tokens")}\nobjectstore.backend = file\n`;
  writeFileSync(join(home, "softhsm2.conf"), conf);
  const env = {
    PATH: `${join(home, "bin")}:${process.env.PATH}`,
    HOME: home,
    SOFTHSM2_CONF: join(home, "softhsm2.conf"),
  };
  const server = Bun.spawn([binary, "serve"], {
    cwd: home,
    env: { ...env, PKID_SERVER_PORT: String(port), PKID_SERVER_HOST: "127.0.0.1" },
    stdout: "ignore",
    stderr: Bun.file(join(home, "server.log")),
  });
  try {
    while (!existsSync(join(home, "pkid-data", "admin.sock"))) {
      if (server.exitCode !== null) throw new Error(readFileSync(join(home, "server.log"), "utf8"));
      await Bun.sleep(20);
    }
    const blocks = fences.filter((fence) => fence.language === "sh" && !hasOwnTest(fence));
    expect(blocks.length).toBeGreaterThan(8);
    for (const { text } of blocks) {
      if (text.includes("softhsm2-util") && softHsmModule === undefined) continue;
      const script = text
        .replaceAll(":8443", `:${port}`)
        .replaceAll("/etc/pkid", join(home, "etc"));
      const done = await ran(["bash", "-euo", "pipefail", "-c", script], { cwd: home, env });
      expect({
        text,
        code: done.code,
        said: done.code === 0 ? "" : done.stdout + done.stderr,
      }).toEqual({
        text,
        code: 0,
        said: "",
      });
    }
  } finally {
    server.kill();
    await server.exited;
  }
  const verified = await ran(
    ["openssl", "x509", "-in", "shop.pem", "-noout", "-ext", "subjectAltName"],
    { cwd: home },
  );
  expect(verified.stdout).toContain("shop.example.test");
}, 120_000);

test("the demo walks its path to the end without bun on PATH", async () => {
  const PATH = "/usr/local/bin:/usr/bin:/bin";
  const { code, stdout } = await ran([join(root, "scripts", "demo")], { cwd: home, env: { PATH } });
  expect(code).toBe(0);
  expect(stdout).toContain("www.pem: good");
  expect(stdout).toContain("www.pem: revoked");
}, 120_000);

test("every fence says its language, and every configuration loads", () => {
  for (const { language, text } of fences) {
    expect(["sh", "shell", "yaml", "text"]).toContain(language);
    if (language !== "yaml") continue;
    const readFile = () => "";
    // Where people log in has an address, which README says once.
    const env = { PKID_SERVER_PUBLIC_URL: "https://ca.example.com" };
    const loaded = loadConfig({ file: { text, name: "README" }, env, host: "h", readFile });
    const faults = loaded.ok
      ? []
      : loaded.faults.filter(({ sentence }) => !/^Needs /.test(sentence));
    expect({ text, faults }).toEqual({ text, faults: [] });
  }
});

/** The command a text names, and the flags behind it; undefined when there is none of that name. */
function commandIn(words: readonly string[]): { noun: Noun; rest: readonly string[] } | undefined {
  let found: Noun = { summary: "", verbs: nouns };
  let at = 0;
  for (; "verbs" in found; at++) {
    const next: Noun | undefined = found.verbs[words[at] ?? ""];
    if (next === undefined)
      return at > 0 && words[at] === undefined ? { noun: found, rest: [] } : undefined;
    found = next;
  }
  return { noun: found, rest: words.slice(at) };
}

/** Faults of a line that begins behind `pkid`. */
function faultIn(line: string): string | undefined {
  const words = line.trim().split(/\s+/);
  if (words[0] === "--version" || words[0] === "version" || words[0] === "help") return undefined;
  const found = commandIn(words.slice(0, 4).map((word) => word.replace(/[,.;:)]$/, "")));
  const whole = found && commandIn(words);
  if (found === undefined) return `there is no command ${words.slice(0, 3).join(" ")}`;
  if ("verbs" in found.noun || whole === undefined) return undefined;
  const known = [...flagsOf(found.noun.args), ...flagsOf(globalArgs)].map(({ written }) => written);
  const flags = words.filter((word) => /^--[a-z-]+$/.test(word));
  const wrong = flags.find((flag) => !known.includes(flag));
  return wrong === undefined ? undefined : `${words.slice(0, 2).join(" ")} has no ${wrong}`;
}

test("every command and flag that is mentioned exists", () => {
  const inline = [...manual.matchAll(/`pkid ([^`]+)`/g)].map(([, line = ""]) => line);
  const shell = fences
    .filter(({ language }) => language !== "yaml")
    .flatMap(({ text }) => text.replace(/\\\n/g, " ").split("\n"))
    .flatMap((line) =>
      [...line.matchAll(/(?:^|\$\()pkid ([^|>)]+)/g)].map(([, rest = ""]) => rest),
    );
  expect(inline.length + shell.length).toBeGreaterThan(50);
  expect([...inline, ...shell].map(faultIn).filter((fault) => fault !== undefined)).toEqual([]);
  expect(faultIn("events list")).toBe("there is no command events list");
  expect(faultIn("cert list --al")).toBe("cert list has no --al");
});

test("every remedy of preflight names only commands and keys that exist", () => {
  const keys = new Set(
    [
      ...readFileSync(join(root, "test/golden/config-reference.md"), "utf8").matchAll(
        /`([a-z0-9_.]+)`/g,
      ),
    ].map(([, key]) => key),
  );
  const faults: string[] = [];
  for (const name of checkNames) {
    for (const [, quoted = ""] of preflightChecks[name].remedy.matchAll(/`([^`]+)`/g)) {
      const [first = ""] = quoted.split(/[\s:]/);
      const plain = first.replace(/_source$/, "");
      const isKey = [...keys].some((key) => key === plain || key?.endsWith(`.${plain}`));
      const line = quoted.replace(/^pkid /, "");
      if (!isKey && faultIn(line) !== undefined) faults.push(`${name}: ${quoted}`);
    }
  }
  expect(faults).toEqual([]);
});
