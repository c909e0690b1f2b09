/**
 * Builds the console and then the one binary that embeds it: `dist/pkid`, the same bytes for the
 * same commit. With a file and a version it makes that binary beside it, of the console that is
 * there.
 */

import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { BunPlugin } from "bun";
import { buildConsole } from "./lib/console.ts";

const root = join(import.meta.dir, "..");

async function buildBinary(outfile: string, version?: string): Promise<void> {
  mkdirSync(join(root, "dist"), { recursive: true });
  rmSync(outfile, { force: true });
  await Bun.build({
    entrypoints: ["src/main.ts"],
    target: "bun",
    // Bytecode needs the format said: the default with it is CommonJS, which has no top-level
    // await.
    format: "esm",
    bytecode: true,
    // Signer and threads read what they need, and no octet of the rest.
    splitting: true,
    // Error classes are told apart by name in logs, so names stay.
    minify: { whitespace: true, syntax: true, identifiers: true, keepNames: true },
    sourcemap: "inline",
    define: await buildConstants(version),
    plugins: hasAddon() ? [] : [withoutPkcs11],
    compile: {
      outfile,
      assets: [stagedMigrations(), "dist/console", "src/manual"],
      // A CA runs the code it was built from. These close the doors through which a working
      // directory or an environment could add some: .env, bunfig.toml, eval, preloaded or imported
      // files from disk.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
      execArgv: ["--disallow-code-generation-from-strings=strict"],
    },
  });
  // The binary carries its source maps; the copies beside it are not needed.
  for (const name of readdirSync(dirname(outfile))) {
    if (name.endsWith(".map")) rmSync(join(dirname(outfile), name));
  }
  const bytes = await Bun.file(outfile).bytes();
  const digest = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  const pkcs11 = hasAddon() ? "with PKCS#11" : "WITHOUT PKCS#11 (it could not be compiled)";
  console.log(`${relative(root, outfile)}: ${(bytes.length / 1e6).toFixed(1)} MB, ${pkcs11}`);
  console.log(`sha256 ${digest}`);
}

/** Returns a folder with the steps and their order, without the files of development only. */
function stagedMigrations(): string {
  const staged = "dist/migrations";
  rmSync(join(root, staged), { recursive: true, force: true });
  cpSync(join(root, "migrations"), join(root, staged), {
    recursive: true,
    filter: (path) => !path.endsWith("_snapshot.json") && !path.endsWith("/digests.json"),
  });
  return staged;
}

/** What `pkid --version` says; the commit is absent outside a checkout. */
async function buildConstants(named?: string): Promise<Record<string, string>> {
  const version = named ?? (await Bun.file(join(root, "package.json")).json()).version;
  const commit = Bun.spawnSync(["git", "rev-parse", "--short=12", "HEAD"], { cwd: root });
  return {
    BUILD_VERSION: JSON.stringify(version),
    BUILD_COMMIT: JSON.stringify(commit.success ? commit.stdout.toString().trim() : ""),
    "process.env.NODE_ENV": JSON.stringify("production"),
  };
}

function hasAddon(): boolean {
  return existsSync(join(root, "node_modules/pkcs11js/build/Release/pkcs11.node"));
}

/**
 * Puts a module that refuses to load in the place of the addon, so that only configuring an HSM
 * fails.
 */
const withoutPkcs11: BunPlugin = {
  name: "without-pkcs11",
  setup(build) {
    build.onResolve({ filter: /pkcs11\.node$/ }, () => ({ path: "pkcs11", namespace: "absent" }));
    build.onLoad({ filter: /^pkcs11$/, namespace: "absent" }, () => ({
      loader: "js",
      contents:
        'throw new Error("this pkid was built without PKCS#11: build it where g++ is installed");',
    }));
  },
};

process.chdir(root);
const [file, version] = process.argv.slice(2);
if (file === undefined) {
  const pages = await buildConsole(join(root, "dist/console"));
  console.log(`dist/console: ${pages.length} files`);
}
await buildBinary(file ?? join(root, "dist/pkid"), version);
