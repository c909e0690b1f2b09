/** What the processes load before anybody asks for it: not the libraries that few callers need. */

import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { eachLine } from "#test/support/child.ts";
import { newHome, writeConfig } from "#test/support/instances/instance.ts";

const root = join(import.meta.dir, "..");

/**
 * Each takes milliseconds and megabytes: for passkeys, bundles of certificates, directories,
 * remote calls and scrapes.
 */
const heavy = [
  "@peculiar/x509",
  "reflect-metadata",
  "tsyringe",
  "pkijs",
  "asn1js",
  "ldapts",
  "@bufbuild/protobuf",
  "prom-client",
];

/**
 * So do these, of the runtime and of ours: for people at a terminal, for PostgreSQL, and for whom
 * an instance is opened.
 */
const heavyModules = [
  "readline",
  "src/adapters/db/engine/postgres-link.ts",
  "src/app/composed.ts",
  "src/app/preflight/inspect.ts",
];

const built = await Bun.build({
  entrypoints: [join(root, "src/main.ts")],
  root,
  target: "bun",
  metafile: true,
  external: ["*.node"],
});
const modules = built.metafile?.inputs ?? {};

/** Modules evaluated with one: everything it imports, and what that imports, but lazily. */
function modulesWith(entry: string): ReadonlySet<string> {
  const reached = new Set([entry]);
  for (const path of reached) {
    for (const { path: next, kind } of modules[path]?.imports ?? []) {
      if (kind !== "dynamic-import") reached.add(next);
    }
  }
  return reached;
}

const packagesWith = (entry: string): ReadonlySet<string> =>
  new Set([...modulesWith(entry)].flatMap((path) => packageOf(path) ?? []));

const packageOf = (path: string): string | undefined =>
  /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];

describe("of the libraries that few callers need nothing is loaded with", () => {
  test.each(["src/app/shell.ts", "src/app/signer.ts"])("%s", (entry) => {
    const packages = packagesWith(entry);
    // That anything was followed at all.
    expect([...packages]).toContain("@noble/post-quantum");
    expect(heavy.filter((name) => packages.has(name))).toEqual([]);
  });

  test("nor of the modules that few callers need", () => {
    const reached = modulesWith("src/app/shell.ts");
    expect([...reached]).toContain("src/app.ts");
    expect(heavyModules.filter((name) => reached.has(name))).toEqual([]);
  });

  test("a thread loads what its own job needs, and no package before it knows which that is", () => {
    expect([...packagesWith("src/app/threads.ts")]).toEqual([]);
  });
});

test("they are in the binary all the same, behind what asks for them", () => {
  const everywhere = new Set(Object.keys(modules).map(packageOf));
  expect(heavy.filter((name) => !everywhere.has(name))).toEqual([]);
});

test("a server evaluates them only when passkeys are on", async () => {
  expect(await loadedAtReady({})).toEqual([]);
  const webauthn = { enabled: true, rp_id: "localhost", origins: ["https://localhost"] };
  const loaded = await loadedAtReady({ auth: { webauthn } });
  expect(loaded).toContain("@peculiar/x509");
  expect(loaded).toContain("reflect-metadata");
});

/** The heavy libraries that a server run from its sources has evaluated when it has stopped. */
async function loadedAtReady(config: Readonly<Record<string, unknown>>): Promise<string[]> {
  const home = newHome();
  const probe = join(home, "probe.ts");
  const said = 'process.on("exit", () => console.log(Object.keys(require.cache).join("\\n")));\n';
  writeFileSync(probe, said);
  const main = join(root, "src/main.ts");
  const child = Bun.spawn(
    [process.execPath, "--preload", probe, main, "serve", "--config", writeConfig(home, config)],
    { cwd: root, stdin: "ignore", stdout: "pipe", stderr: "pipe", env: { HOME: home } },
  );
  const log: string[] = [];
  const loaded = new Set<string | undefined>();
  await Promise.all([
    eachLine(child.stdout, (line) => loaded.add(packageOf(line))),
    eachLine(child.stderr, (line) => {
      log.push(line);
      if (line.includes('"ready"')) child.kill("SIGTERM");
    }),
  ]);
  if ((await child.exited) !== 0) throw new Error(log.join("\n"));
  return heavy.filter((name) => loaded.has(name));
}
